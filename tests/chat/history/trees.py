"""Random conversations for the tests of tree, store and exchange. Tests nothing itself."""

from collections.abc import Callable

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from headstart.chat.conversation import AnswerOutcome, Attachment, Conversation, Role, Run, State, ToolCall

# A busy machine is no fault: neither a slow example nor slow drawing is.
PATIENT = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])

LETTERS = "aZé虎한ю👍 \n\t\"'*()-_\x00\u202e"
TEXT = st.text(LETTERS, max_size=12) | st.sampled_from(["我看见老虎了", "naïve Café", 'say "hi"'])
JSON = st.dictionaries(st.text(max_size=5), st.integers(-9, 9) | st.booleans() | TEXT | st.none(), max_size=3)
RUNS = st.lists(st.builds(Run, st.integers(1, 9), st.sampled_from(["draft", "target"])), max_size=3).map(tuple)
ENDS = st.sampled_from([State.COMPLETE, State.STOPPED, State.INTERRUPTED])
CALLS = st.lists(
    st.builds(ToolCall, st.integers(0, 9), TEXT, st.just('{"a": "虎"}'), TEXT, st.booleans(), st.integers(0, 9)),
    max_size=2,
).map(tuple)
FILES = st.lists(st.builds(Attachment, TEXT, TEXT), max_size=2).map(tuple)
STEPS = ("ask", "answer", "edit", "regenerate", "resume", "show", "walk", "remove", "remove_branch", "fork")

# Answers that quote the marks of thinking.
QUOTING = (
    "First write\n</reasoning>\nthen stop.",
    "Tags:\n</thought>\nends it",
    "<think>\nopens it\n</think>\nand that closes it.",
    "<thinking> alone",
)

Edit = Callable[[Conversation], Conversation]


def any_message(conversation: Conversation, draw: st.DrawFn) -> int:
    """Draw the id of one of a conversation's messages."""
    return draw(st.sampled_from(sorted(conversation.messages)))


def edited(conversation: Conversation, draw: st.DrawFn) -> Conversation:
    """Return the tree after one random operation that is possible."""
    step = draw(st.sampled_from(STEPS)) if conversation.messages else "ask"
    if step == "ask":
        return conversation.ask(draw(TEXT), draw(FILES))
    if step == "answer":
        return finished(conversation.begin_answer("model", draw(JSON)), draw)
    id_ = any_message(conversation, draw)
    if step in {"regenerate", "resume"}:
        return answered_again(conversation, id_, step, draw)
    if step == "edit":
        return conversation.edit(id_, draw(TEXT), draw(st.none() | FILES))
    if step == "walk":
        return conversation.switch_version(id_, draw(st.sampled_from([-1, 1])))
    changed: Conversation = getattr(conversation, step)(id_)
    return changed


def answered_again(conversation: Conversation, id_: int, step: str, draw: st.DrawFn) -> Conversation:
    """Return the tree with an answer that is generated again or continued; a question is left as it is."""
    if conversation.messages[id_].role is Role.USER:
        return conversation
    return finished(getattr(conversation, step)(id_), draw)


def finished(conversation: Conversation, draw: st.DrawFn) -> Conversation:
    """End the answers that are being written."""
    for message in conversation.messages.values():
        if message.state is State.STREAMING:
            outcome = AnswerOutcome(
                message.text + draw(TEXT), draw(ENDS), draw(RUNS), draw(JSON), draw(CALLS), draw(TEXT)
            )
            conversation = conversation.finish(message.id, outcome)
    return conversation


@st.composite
def histories(draw: st.DrawFn, most: int = 12) -> list[Conversation]:
    """Draw a conversation after each of some operations, beginning with the empty one."""
    found = [Conversation()]
    for _ in range(draw(st.integers(0, most))):
        found.append(edited(found[-1], draw))
    return found


CONVERSATIONS = histories().map(lambda history: history[-1])
