"""The one added line: agree with the other ranks, start from equal parameters, attach the hooks."""

from __future__ import annotations

import atexit
import warnings
import weakref
from collections import defaultdict
from dataclasses import replace
from importlib.metadata import version

import torch
import torch.distributed as dist
from torch import Tensor, nn

from laconic import baseline, inventory, tracing
from laconic.compress.identity import Identity
from laconic.core import memory
from laconic.core.errors import LaconicError, PeerError, UsageError
from laconic.drive.agree import agree
from laconic.drive.alone import Alone
from laconic.drive.apart import Apart
from laconic.drive.base import Place
from laconic.drive.lanes import Lanes
from laconic.drive.reduce_by import reduce_by
from laconic.drive.torch_dist import TorchDist
from laconic.integrations.ddp_baseline import DdpReplica
from laconic.journal import Journal
from laconic.kernels import choose
from laconic.net.link import Link
from laconic.pairing import pair_up
from laconic.pilot import Pilot
from laconic.plan import Plan
from laconic.planner.profiler import Profiler
from laconic.replica import GradientHook, Replica
from laconic.server.join import join
from laconic.session import Session, init
from laconic.sharing import share
from laconic.sync import Subject
from laconic.topology import AllReduce, Gossip, ParameterServer


def distribute(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    plan: Plan | str | None = None,
    *,
    nonfinite: str = "raise",
    seed: int = 0,
) -> Replica | DdpReplica:
    """Train this model with all ranks of the job, in place: the loop and `state_dict` keys stay as they are.

    plan        a Plan, its text, or None for LACONIC_PLAN (`laconic run --plan`), else the default plan
    nonfinite   what optimizer.step() does when a gradient on any rank is NaN or infinite: "raise" on all ranks, or
                "skip" the step on all ranks. Under GradScaler neither happens: it skips by itself, on all ranks alike.
    seed        of the compressors' own randomness; the user's generators are never touched

    All ranks must call it, with the same model and plan; rank 0's parameters and buffers reach everybody.
    """
    if nonfinite not in ("raise", "skip"):
        raise UsageError(f"nonfinite={nonfinite!r}: it is 'raise' or 'skip'.")
    session = init()
    memory.keep_pages()  # baselines have it, too
    if Profiler.current is not None:
        Profiler.current.attach(model, optimizer)
    try:
        replica = _attach(model, optimizer, plan, session, nonfinite, seed)
        if Journal.current is not None:
            Journal.current.attach(replica, optimizer)
        return replica
    except LaconicError as error:
        session.note(f"stopped in laconic.distribute: {str(error).splitlines()[0].rstrip('.')}")
        raise


def _attach(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    plan: Plan | str | None,
    session: Session,
    nonfinite: str,
    seed: int,
) -> Replica | DdpReplica:
    wanted = plan if plan is not None else session.plan or str(Plan())
    other = baseline.parse(wanted) if isinstance(wanted, str) else None
    chosen = other or (Plan.parse(wanted) if isinstance(wanted, str) else wanted)
    if not isinstance(chosen, Plan | baseline.Baseline):
        raise UsageError(f"plan={plan!r}: it is a laconic.Plan, a text such as 'ef(topk(0.01))', or None.")
    _refuse(optimizer, chosen, nonfinite)
    _refuse_in_profile(chosen)
    if isinstance(chosen, Plan):
        _fit(chosen, session.world)
    found = inventory.take(model, optimizer)

    options = [f"nonfinite: {nonfinite}", f"seed: {seed}"]
    if isinstance(chosen, Plan) and isinstance(chosen.topology, Gossip):
        options += chosen.topology.settle(session.world).lines(session.world)
    link = Link()
    base: TorchDist | Lanes | None = None
    driver: TorchDist | Lanes | Alone | Apart = session.driver(link, one_round=_adds_up_only(chosen))
    if isinstance(driver, TorchDist | Lanes):
        options += _kernels(chosen, next(iter(found.trained.values())))
        lines = _description(found, str(chosen), optimizer, options)
        _start_equal(driver, [*lines, f"debug: {session.debug}"], model)
        base = driver
        if isinstance(chosen, Plan) and isinstance(chosen.topology, ParameterServer):
            driver = join(session, chosen.topology, driver, link)
    link.watch(session.interface)
    if isinstance(chosen, baseline.Baseline):
        return DdpReplica(model, optimizer, chosen, session.world, link)
    seat = replace(session.seat(chosen.topology, seed), device=next(iter(found.trained.values())).device)
    replica = Replica(found, optimizer, chosen, seat, driver, link, nonfinite)
    if isinstance(driver, TorchDist | Lanes) and isinstance(chosen.topology, AllReduce):
        replica.reduced_by = _reduce_by(chosen.topology, driver, seat.device)
    _warn_if_nothing_is_compressed(replica)
    if isinstance(driver, TorchDist | Lanes):
        pair_up(replica, driver, session)
    share(replica, base, session)
    model.register_load_state_dict_post_hook(lambda *_: replica.reanchor())
    if not isinstance(driver, Alone):
        _say_goodbye(replica, driver)
    _watch(replica, model, session)
    return replica


def _adds_up_only(plan: Plan | baseline.Baseline) -> bool:
    """Is every exchange one sum that nobody splits in two? Then a lane would have nothing to do."""
    return isinstance(plan, baseline.Baseline) or (plan.adds_up and not plan.schedule.crosses)


def _fit(plan: Plan, world: int) -> None:
    """PlanError where so many ranks cannot follow it."""
    plan.sync.fit(world)
    if isinstance(plan.topology, AllReduce):
        plan.topology.fit(world)


def _watch(replica: Replica, model: nn.Module, session: Session) -> None:
    """Those who look at every step: to order its messages better, to trace it."""
    if session.trace is not None:
        tracing.start(session.trace, replica, replica.driver, session.rank)
    if replica.plan.schedule.is_measured and session.world > 1:
        replica.pilot = Pilot(replica, model)


def _warn_if_nothing_is_compressed(replica: Replica) -> None:
    wanted = replica.plan.compress
    if all(b.compress != wanted for b in replica.buckets):
        warnings.warn(
            f"Every tensor of this model is small and travels dense, so {wanted} has nothing to do.", stacklevel=4
        )


def _refuse(optimizer: torch.optim.Optimizer, plan: Plan | baseline.Baseline, nonfinite: str) -> None:
    hooks = list(optimizer._optimizer_step_post_hooks.values())  # noqa: SLF001  (there is no public way to look)
    for group in optimizer.param_groups:
        for p in group["params"]:
            hooks += (getattr(p, "_post_accumulate_grad_hooks", None) or {}).values()
    if any(isinstance(getattr(hook, "__self__", hook), Replica | DdpReplica | GradientHook) for hook in hooks):
        raise UsageError("This model or optimizer is distributed already. Call close() on its replica first.")
    subject = Subject.GRADIENT if isinstance(plan, baseline.Baseline) else plan.subject
    checked = isinstance(plan, Plan) and subject is not Subject.NOTHING
    if not checked and nonfinite != "raise":
        raise UsageError(f"nonfinite={nonfinite!r} has no effect under {plan}. Leave it out.")
    if isinstance(plan, Plan) and subject is Subject.GRADIENT:
        _refuse_second_momentum(optimizer, plan)
    if isinstance(optimizer, torch.optim.LBFGS) and subject is Subject.GRADIENT:
        raise UsageError(
            "LBFGS decides by its own rank's loss how often to evaluate, so ranks would fall out of step. Use it "
            "with local(h), or another optimizer."
        )


def _refuse_in_profile(plan: Plan | baseline.Baseline) -> None:
    """A table that is asked for holds what computing takes: exchanges would count as some."""
    asked = Profiler.current is not None and Profiler.current.path is not None
    if asked and (isinstance(plan, baseline.Baseline) or plan.subject is not Subject.NOTHING):
        raise UsageError(
            f"The script was told to train with silent, so that computing alone is profiled, but it wants to train "
            f"with {plan}. Leave the plan out of laconic.distribute(model, optimizer): it then takes the one it is "
            f"told."
        )


def _refuse_second_momentum(optimizer: torch.optim.Optimizer, plan: Plan) -> None:
    for group in optimizer.param_groups:
        twice = group.get("momentum") or group.get("betas", (0,))[0]
        if plan.compress.owns_momentum and twice:
            raise UsageError(
                f"{plan.compress} adds momentum before it compresses, but {type(optimizer).__name__} has momentum "
                f"{float(twice):g} too: it would count twice. Give the optimizer momentum=0."
            )
        if plan.compress.follows_lr and "lr" not in group:
            raise UsageError(
                f"{plan.compress} follows the learning rate, but {type(optimizer).__name__} has no 'lr' in its "
                f"parameter groups. Use another plan or optimizer."
            )


def _description(
    found: inventory.Inventory, plan: str, optimizer: torch.optim.Optimizer, options: list[str]
) -> list[str]:
    groups = [len(group["params"]) for group in optimizer.param_groups]
    rates = [group.get("lr") for group in optimizer.param_groups]
    return [
        f"laconic {version('laconic')}",
        f"torch {torch.__version__}",
        f"plan: {plan}",
        *options,
        *found.lines(),
        f"optimizer: {type(optimizer).__name__} with parameter groups of {groups}, learning rates {rates}",
    ]


def _reduce_by(topology: AllReduce, driver: TorchDist | Lanes, device: torch.device) -> str:
    place = Place(0, 0, "measuring all-reduce algorithms")
    try:
        return reduce_by(topology, driver, device)
    except RuntimeError as error:
        cause = str(error).strip().splitlines()[0][:300].rstrip(".")
        raise PeerError(driver.roster.explain(place, cause)) from error


def _kernels(plan: Plan | baseline.Baseline, sample: Tensor) -> list[str]:
    """Compiled kernels and plain torch agree to rounding only under low rank: a mixture would let replicas drift."""
    if isinstance(plan, baseline.Baseline) or isinstance(plan.compress, Identity):
        return []
    return [f"kernels: {'compiled' if choose.compiled(sample.device.type) else 'plain torch'}"]


def _start_equal(driver: TorchDist | Lanes, lines: list[str], model: nn.Module) -> None:
    place = Place(0, 0, "comparing ranks and sending rank 0's parameters")
    tensors = [t.detach() for t in (*model.parameters(), *model.buffers())]
    device = next(model.parameters()).device
    try:
        agree(lines, driver.group, device)
        _broadcast(tensors, driver.group)
    except RuntimeError as error:
        cause = str(error).strip().splitlines()[0][:300].rstrip(".")
        raise PeerError(driver.roster.explain(place, cause)) from error


def _broadcast(tensors: list[Tensor], group: dist.ProcessGroup) -> None:
    """Rank 0's values to everybody, one message a kind of tensor."""
    kinds: dict[tuple[torch.dtype, torch.device], list[Tensor]] = defaultdict(list)
    for t in tensors:
        kinds[t.dtype, t.device].append(t)
    for same in kinds.values():
        flat = torch.cat([t.reshape(-1) for t in same])
        raw = flat.view(torch.uint8)  # backends do not know every type
        dist.broadcast(raw, dist.get_global_rank(group, 0), group=group)
        for t, piece in zip(same, flat.split([t.numel() for t in same]), strict=True):
            t.copy_(piece.view_as(t))


def _say_goodbye(replica: Replica, driver: TorchDist | Lanes | Apart) -> None:
    """A rank that ends while others wait leaves a note, so that their error can name the reason."""
    alive = weakref.ref(replica)

    def note() -> None:
        gone = alive()
        if gone is not None:
            driver.roster.note(f"ended after step {gone.steps}")
            gone.close()
        if isinstance(driver, Apart):
            driver.close("" if gone is None else f"ended after step {gone.steps}")
        else:
            driver.close()

    atexit.register(note)
