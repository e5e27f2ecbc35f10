"""What is asked of all members: who they are, and the list of deployments with the state that each owner has."""

import functools

import msgspec

from driftwise.service.http.endpoint import Call, Endpoint, Handler
from driftwise.service.http.schemas.responses import DeploymentList, MemberList, MemberResponse
from driftwise.service.members.frames import RoutedRequest
from driftwise.service.members.roster import slot_of
from driftwise.service.members.router import Router

LIST = "/v1/deployments"
ANSWER_S = 2.0  # how long others may take to tell of theirs


def member_endpoints(router: Router | None) -> list[Endpoint]:
    """The endpoint that lists members."""

    async def list_members(call: Call) -> MemberList:
        """List the processes that serve the store, and the deployments that each owns."""
        return MemberList([] if router is None else _members(router, call))

    return [Endpoint("GET", "/v1/members", list_members, response=MemberList, scope="read", filtered=True)]


def _members(router: Router, call: Call) -> list[MemberResponse]:
    membership, only = router.membership, None if call.caller is None else call.caller.deployments
    names: dict[int, list[str]] = {}
    for name, entry in sorted(call.engine.catalogue.entries.items()):
        if only is None or name in only:
            names.setdefault(membership.view.owners[slot_of(entry.stream)], []).append(name)
    return [
        MemberResponse(f"{each.id:016x}", each.address, each.ready, each.expired, names.get(each.id, []))
        for each in sorted(membership.view.members.values())
    ]


def gather_list(router: Router, table: list[Endpoint]) -> None:
    """Let the list of deployments show the state that owners have, whichever process answers."""
    (endpoint,) = (each for each in table if (each.method, each.path) == ("GET", LIST))
    endpoint.handler = _gathered(router, endpoint.handler)


def _gathered(router: Router, own: Handler) -> Handler:
    @functools.wraps(own)
    async def list_deployments(call: Call) -> object:
        answer = await own(call)
        if call.forwarded:
            return answer
        page = msgspec.convert(answer, DeploymentList)
        places = {view.name: place for place, view in enumerate(page.deployments)}
        caller = "" if call.caller is None else call.caller.id
        request = RoutedRequest(f"GET {LIST}", LIST, "", "", call.query, None, "list", caller, b"", repeatable=True)
        async for _, response in router.ask_all(request, ANSWER_S):
            if response.status == 200:
                for view in msgspec.json.decode(response.body, type=DeploymentList).deployments:
                    if view.round is not None and view.name in places:
                        page.deployments[places[view.name]] = view
        return page

    return list_deployments  # type: ignore[return-value]
