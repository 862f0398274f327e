"""Questions to the files in folders: which words to look for, and whether a question goes on from the one before."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from headstart.chat import search

FOLLOWED = 0.5  # weight of the words of the question before; of the one before that, half of it
_LEAST_WEIGHT = FOLLOWED / 4  # of the words of an earlier question
ANSWERED = 0.25  # weight of the words of the last answer
_MAX_ANSWER = 400  # characters of an answer that may name what the next question means
_MAX_TERMS = 24

# Words that every text has. They say nothing about what is looked for.
_COMMON = """
a about above after again all also am an and any are as at be because been before being below between both but by
can could did do does doing done down during each else ever every few for from further get give given go goes had
has have having he her here hers him his how i if in into is it its itself just know let like look made make many
may me might mine more most much must my need no nor not now of off on once one only or other our ours out over own
please put said same say says shall she should so some such take tell than thank thanks that the their theirs them
then there these they thing things this those through to too under until up upon us use used very want was we were
what when where whether which while who whom whose why will with without would yes you your yours okay ok s t ll re
ve d summarise summarize summary explain describe mean means happen happens happened become became
aber alle allem allen aller alles als also am an andere auch auf aus bei beim bin bis bist da dabei dafür daher dann
darf darum das dass dazu dein deine dem den denn der des dessen dich die dies diese diesem diesen dieser dieses dir
doch dort du durch ein eine einem einen einer eines einmal er es etwas euch euer für gab gar gegen geht gibt haben
hat hatte hier hin ihm ihn ihnen ihr ihre ihrem ihren im in ins ist ja jede jedem jeden jeder jedes jetzt kann kein
keine können könnte lautet man mehr mein meine mich mir mit muss müssen nach nein nicht noch nun nur ob oder ohne
sagt sehr sein seine seinem seinen seiner sich sie sind so soll sollte sonst steht über um und uns unser unter viel
viele vom von vor wann war waren warum was weil welche welchem welchen welcher welches wem wen wenn wer werde werden
wie wieder wieviel will wir wird wo wobei woher wohin worum wurde würde wurden zu zum zur zwischen bitte danke heißt
heisst sage fasse zusammen erkläre
au aux avec ce ces cette comment dans de des du elle en est et il ils je la le les leur lui mais ne nous on ou où
par pas pour pourquoi quand que quel quelle quels qui sa se ses son sont sur un une vous
al como con cual cuando cuál de del donde el ella ellos en es esta este esto hay la las lo los más no para pero por
porque qué quien se sin sobre son su sus un una y ya
"""
_STOP_WORDS = frozenset(_COMMON.split())
# Words with characters that are particles elsewhere.
_WHOLE_WORDS = (
    "会[议员计话场费见长]|[社机开协年晚工学商大]会|能[源力量耗]|[功性智职技节产]能|要[求点素]|[重摘纪主次]要|有限|所有|拥有"
    "|申请|请假|邀请|参与|目的|了解|对[象方比]|[绝反针]对|[普以涉]及|现在|存在|但是|和[平解]|[成造]就|就业|成都|首都"
)
_PARTICLES = re.compile(
    f"({_WHOLE_WORDS})"
    "|什么时候|什么|怎么样|怎么办|怎么|怎样|如何|多少|多久|多长|多高|多大|哪里|哪儿|哪个|哪些|谁的|为什么|为何|是不是|有没有|能不能|可不可以|可以|"
    "需要|应该|必须|请问|告诉我|一下|关于|那么|这个|那个|里面|里(?=有)|写了(?=[什哪])|说了(?=[什哪])|我们|你们|他们|它们|时候|"
    "吗|呢|吧|啊|的|了|是|在|有|和|与|及|我|你|他|她|它|这|那|谁|几|请|被|把|对|从|就|都|也|要|会|能|最"
)
# What makes a question go on from another one: it begins like an addition, or means something that it does not name.
_GOES_ON = re.compile(
    r"^\s*(?:(?:and|also|but|or|then|what about|how about|what if|same|und|auch|aber|oder|dann|sonst|et|y)\b"
    r"|那|还有|另外|然后)"
    r"|\b(?:it|its|they|them|their|he|him|his|she|her|hers|this|these|those|there|ones?\W*$"
    r"|(?:the|which|that|this|another) (?:\w+ )?ones?|(?:do|does|did|is|was|of|about|for|with|after|before|to) that"
    r"|er|ihn|ihm|es|dessen|deren|dort|dorthin|dafür|davon|dazu|damit|dabei|danach|darin|diese[rmns]?"
    r"|(?-i:ihr|ihre[mnrs]?|sie|seine?[mnrs]?)|(?:das|der|die|den|dem)\W*$)\b"  # "Sie" and "Ihr" mean you
    r"|它|(?<!其)他|她|[这那][个些里儿]|呢[？?]?\s*$",
    re.IGNORECASE,
)
_MEANS_NOTHING = re.compile(
    r"\b(?:what time is it|(?:is|are|was|were) there|there (?:is|are)|spät ist es|gibt es)\b", re.I
)
# Words that fit any subject: they make none by themselves.
_OF_ANY_SUBJECT = """
long old far big large high much often soon tall deep wide fast expensive cost costs need needs needed work works last
lasts begin begins start starts end ends included allowed possible available required due enough
lang lange alt weit gross hoch oft tief teuer schnell viel kostet kosten braucht dauert dauern gilt gelten beginnt endet
enthalten inbegriffen erlaubt moglich verfugbar notig fallig seit
"""
_PREDICATES = frozenset(_OF_ANY_SUBJECT.split())
_DEFINES = re.compile(
    r"^\s*(?:what (?:is|are) (?:an? )?(?!the\b)(?!\w+ed\b)\w+"
    r"|(?-i:Was (?:ist|sind|bedeutet) (?:eine? )?[A-ZÄÖÜ]\w+))\W*$"
    r"|什么(?:是|叫)|是什么\W*$",
    re.IGNORECASE,
)
_MODAL = re.compile(r"^\s*(?:需要|要|可以|能|会|应该|必须)")  # Chinese questions that begin so leave out who or what
_MIN_SUBJECT, _MIN_CJK_SUBJECT, _MIN_CJK_AFTER_MODAL = 2, 4, 6  # words; characters
_OBJECTS = "files?|documents?|docs?|pdfs?|notes|folders?|spreadsheets?|dateien?|dokumente?n?|ordner"
_LISTS = re.compile(
    rf"\b(?:list|show me|name|which|what|how many|are there|liste|zeige?|nenne|welche|wie viele)\b.{{0,40}}?"
    rf"\b(?:{_OBJECTS})\b(?!\s+(?:\w+\s+)?(?:say|says|is it|steht))"
    r"|^\s*(?:list|liste)\b"
    r"|\b(?:welche|was für)\b.{1,60}\b(?:gibt es|habe ich|haben wir|liegen)\b"
    r"|\bwhich\b.{1,60}\b(?:are there|do (?:i|we) have)\b"
    r"|(?:哪些|列出|多少个?).{0,12}(?:文件|文档|资料)|有哪些|列出"
    r"|(?:文件夹|目录)里?面?有什么",
    re.IGNORECASE,
)
_OF_LISTS = re.compile(
    rf"\b(?:{_OBJECTS}|list|show|name|see|know|access|available|exist|uploaded|attached|liste|zeige?|nenne|contain(?:s|ing)?|concern(?:s|ing)?|called|named|namens)\b"
    "|文件夹?|文档|资料|列出|目录",
    re.IGNORECASE,
)
_NEWEST = re.compile(
    r"\b(?:newest|latest|most recent|recent|neueste[nrsm]?|letzte[nrsm]?|aktuellste[nrsm]?|jüngste[nrsm]?)\b"
    r"|\blast (?=invoice|minutes|report|letter|mail|meeting|version|file|note|contract)|最新|最近|最后一[个份次]",
    re.IGNORECASE,
)
_MONTHS = (
    "january januar", "february februar", "march märz", "april", "may mai", "june juni", "july juli", "august",
    "september", "october oktober", "november", "december dezember",
)  # fmt: skip
_MONTH = {name: number for number, names in enumerate(_MONTHS, start=1) for name in names.split()}
_YEAR = r"((?:19|20)\d\d)"
_DATE = re.compile(rf"\b({'|'.join(_MONTH)})\s+(?:of\s+)?{_YEAR}\b|{_YEAR}\s*年\s*(\d{{1,2}})\s*月", re.IGNORECASE)
_CODE = re.compile(r"[A-Z]{1,4}\d{1,6}")  # such as F21, an error or a model: a name in any language
_BEGINS = re.compile(r"(?:^|[.!?:\n])[^\w.!?:]*$")  # what stands before the first word of a sentence
_GERMAN = re.compile(  # all of its nouns have capitals
    r"\b(?:der|das|dem|ist|sind|wie|wer|wo|wann|warum|und|für|ein|eine[nmrs]?|mit|von|welche[nmrs]?)\b", re.IGNORECASE
)
_DAYS = "monday tuesday wednesday thursday friday saturday sunday christmas easter"
_NO_NAMES = frozenset((*_MONTH, *_DAYS.split(), "mr", "mrs", "prof"))
_MIN_NAME = 3  # letters
_ASKS = re.compile(r"[?？]|^\s*(?:why|how|when|where|who|warum|wieso|wann|wo|wer|为什么)\b", re.IGNORECASE)
_SENTENCE = re.compile(r"[^.!?。！？\n]*[?？]")
_AGREES = re.compile(
    r"\W*(?:(?:(?:yes|yeah|yep|yup|sure|ok|okay|please|do|go|on|ahead|continue|of course|definitely|tell me more|more"
    r"|ja|jawohl|klar|gerne?|natürlich|genau|bitte|weiter|mehr)\b|好的?|行|可以|是的?|对|嗯|要|继续|当然|请|吧)\W*)+",
    re.IGNORECASE,
)
_TAKES_NOTE = re.compile(r"\W*(?:(?:ok|okay|klar|genau)\b|好的?|行|对|嗯)\W*", re.IGNORECASE)
_DECLINES = re.compile(r"\W*(?:(?:no|thanks?|thank you|nein|danke|vielen dank)\b|谢谢)", re.IGNORECASE)


class SearchTerms(NamedTuple):
    """Words that are looked for together, each as FTS5 writes it, and how much they weigh."""

    terms: tuple[str, ...]
    weight: float


class Question(NamedTuple):
    """A parsed question."""

    texts: tuple[str, ...]  # for the vector of its meaning: with what it goes on from, and alone
    parts: tuple[SearchTerms, ...]  # the question's own words first
    searched: str = ""  # what is looked for, as it is shown; empty if that is nothing
    lists: bool = False  # files are asked for, not what stands in them
    is_newest: bool = False  # newer files go first
    dates: tuple[str, ...] = ()  # as names of files have them
    names: tuple[str, ...] = ()  # words of the names of persons, places and products
    num_deciding: int = 1  # of the first parts: the words of one of them must be in what is found


def understand(text: str, before: Sequence[tuple[str, str]] = ()) -> Question:
    """Parse a question for the search. `before` has the questions and answers above it, the last one last."""
    is_newest, lists = bool(_NEWEST.search(text)), bool(_LISTS.search(text))
    bare = _NEWEST.sub(" ", text)
    own = _own_terms(_OF_LISTS.sub(" ", bare) if lists else bare)
    dates, names = tuple(_dates(text)), tuple(_names(text))
    if not _goes_on(text, own, before) or (lists and own):
        is_search = own or lists or dates or is_newest
        searched = text.strip() if is_search else ""
        return Question((text,), (SearchTerms(own, 1.0),), searched, lists, is_newest, dates, names)
    joined, is_reply = list[str](), not own
    if is_reply:  # "why?" is about the question before, "yes" is to what the answer offered
        offers = [] if _ASKS.search(text) else _SENTENCE.findall(before[-1][1])
        joined += offers[-1:]
        if not (_DECLINES.match(text) or (_TAKES_NOTE.fullmatch(text) and not offers)):
            own = next(filter(None, map(_own_terms, (*joined, *(each for each, _ in reversed(before))))), ())
    if not own:
        return Question((text,), (SearchTerms((), 1.0),))
    deciding, known, weight = [SearchTerms(own, 1.0)], set(own), FOLLOWED
    answered = known.union(terms(before[-1][0]))
    answer = SearchTerms(tuple(term for term in terms(before[-1][1][:_MAX_ANSWER]) if term not in answered), ANSWERED)
    for number, (question, _) in reversed(list(enumerate(before))):
        found = _own_terms(question)
        if not found:
            continue
        deciding.append(SearchTerms(tuple(term for term in found if term not in known), weight))
        known.update(found)
        joined.append(question)
        weight /= 2
        if weight < _LEAST_WEIGHT or not _goes_on(question, found, before[:number]):
            break
    whole = " ".join([*(each.strip() for each in reversed(joined)), text])
    parts = tuple(part for part in (*deciding, answer) if part.terms)
    searched = f"{text.strip()} ({joined[-1].strip()})" if joined else text.strip()
    num_deciding = sum(bool(part.terms) for part in deciding) if is_reply else 1
    texts = (whole,) if is_reply else (whole, text)
    return Question(texts, parts, searched, lists, is_newest, dates, names, num_deciding)


def _own_terms(text: str) -> tuple[str, ...]:
    """Return the words that carry a question's meaning; none for a "yes" that only agrees."""
    return () if _AGREES.fullmatch(text) else terms(text)


def terms(text: str) -> tuple[str, ...]:
    """Return the words that carry the meaning of a text, CJK characters in pairs."""
    plain = _without_particles(unicodedata.normalize("NFKC", text))
    found = dict.fromkeys(
        search.plain(term)
        for run in search.RUN.findall(plain)
        for term in (search.pairs(run) if search.CJK_LETTER.match(run) else [run.lower()])
        if term not in _STOP_WORDS
    )
    return tuple(found)[:_MAX_TERMS]


def _without_particles(text: str) -> str:
    return _PARTICLES.sub(lambda match: match[1] or " ", text)


def _goes_on(text: str, own: tuple[str, ...], before: Sequence[tuple[str, str]]) -> bool:
    """Return whether a question refers to the questions before it. `own`: its words."""
    if not before:
        return False
    if not own or _GOES_ON.search(_MEANS_NOTHING.sub(" ", text)):
        return True
    if _DEFINES.search(text):
        return False
    question, answer = before[-1]
    subject = set(own) - _PREDICATES
    new = subject - set(terms(question)) - set(terms(answer))
    if not new:
        return True
    if search.CJK_LETTER.search(text):
        size = sum(map(len, search.RUN.findall(_without_particles(text))))
        return size < (_MIN_CJK_AFTER_MODAL if _MODAL.match(text) else _MIN_CJK_SUBJECT)
    is_parallel = _MIN_SUBJECT <= len(subject) >= len(set(terms(question)) - _PREDICATES)
    return len(new) < _MIN_SUBJECT and not is_parallel


def _names(text: str) -> Iterator[str]:
    """Yield the words of a question that are names by their capital letters."""
    is_german, end = _GERMAN.search(text), 0
    for run in search.RUN.finditer(text):
        word, is_first = run[0], _BEGINS.search(text, end, run.start())  # from the word before: a text may be long
        end = run.end()
        if _CODE.fullmatch(word):
            yield word.lower()
        elif word[0].isupper() and not (is_german or is_first or word.isupper()):
            name = search.plain(word.lower())
            if name in _STOP_WORDS:  # A Title Has Capitals Everywhere
                return
            if len(name) >= _MIN_NAME and name not in _NO_NAMES:
                yield name


def _dates(text: str) -> list[str]:
    """Return the year and the month of each date in words, in the form that file names use."""
    found = []
    for month, year, chinese_year, number in _DATE.findall(text):
        found.append(f"{year or chinese_year} {_MONTH.get(month.lower(), int(number or 0)):02}")
    return found
