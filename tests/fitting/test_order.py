import numpy as np
import pytest

from unsculpt.fitting.order import EventOrder


def test_one_seed_gives_every_member_its_own_order():
    order = EventOrder(0, members=3, events=50, held=0)
    assert order.follow is None
    assert len({row.tobytes() for row in order.first}) == 3


def test_members_of_a_seed_share_an_order():
    order = EventOrder([4, 2, 4], members=3, events=50, held=0)
    assert order.first.shape == (2, 50)
    assert order.follow.tolist() == [1, 0, 1]


def test_orders_start_over_after_as_many_members_as_asked_for():
    order = EventOrder(0, members=6, events=50, held=10, orders=2)
    assert order.first.shape == (2, 40)
    assert order.follow.tolist() == [0, 1] * 3


def test_an_order_does_not_depend_on_who_else_is_trained():
    alone = EventOrder([4], members=1, events=50, held=10)
    together = EventOrder([7, 4, 2], members=3, events=50, held=10)
    mine = together.follow[1]
    for _ in range(3):
        np.testing.assert_array_equal(alone.draw()[0], together.draw()[mine])
    np.testing.assert_array_equal(alone.held_out[0], together.held_out[mine])


@pytest.mark.parametrize("seed", [3, [3, 5]])
def test_every_event_is_either_held_out_or_drawn_in_every_epoch(seed):
    order = EventOrder(seed, members=2, events=50, held=10)
    for rows in (order.first, order.draw(), order.draw()):
        both = np.sort(np.hstack([order.held_out, rows]), axis=1)
        np.testing.assert_array_equal(both, np.tile(np.arange(50), (2, 1)))


def test_each_epoch_has_another_order():
    order = EventOrder([3], members=1, events=50, held=0)
    assert len({rows.tobytes() for rows in (order.first, order.draw(), order.draw())}) == 3


def test_as_many_seeds_as_members():
    with pytest.raises(ValueError, match="seed has 2 entries; expected one, or 3"):
        EventOrder([1, 2], members=3, events=50, held=0)
