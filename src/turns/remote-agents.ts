// Access to remote agents for one turn: a fetch under this turn's lease, and our place in the call chain as the next agent is
// told it. What the turn leaves for later keeps that place.
import type { NextHop, RemoteCaller } from '../agents/context.ts'
import { type CallerContext, callerContextSchema } from '../contract/caller.ts'
import { type NormalizedMessage, parseAddress } from '../contract/index.ts'
import type { JournalStore } from '../db/journal.ts'
import type { Attestor } from '../identity/attestor.ts'
import {
  type AgentChain,
  callerHeaders,
  createNextCallChain,
  nextAgentChain,
  startCallerContext,
} from '../identity/call-chain.ts'
import { readJrd } from '../identity/webfinger.ts'
import type { Fields, JsonObject } from '../lib/json-value.ts'
import type { SafeFetch } from '../lib/safe-fetch-port.ts'
import type { Lease } from './leases.ts'
import type { FenceFetch, TurnServices } from './services.ts'
import type { TurnContext } from './turn-context.ts'

type ChainPosition = {
  readonly agent: string
  readonly chain: TurnChain
  /** What a chain that begins here is known by: the same in every try. */
  readonly root: string
}

type RemoteAgentDeps = {
  readonly host: () => Promise<string>
  readonly attestor: Attestor
  readonly fenceFetch: FenceFetch
  readonly guardedFetch: SafeFetch
}

type TurnLease = Pick<Lease, 'isHeld' | 'untilHeld'>

export function createRemoteAgentCaller(
  deps: RemoteAgentDeps,
  lease: TurnLease,
  position: ChainPosition,
): RemoteCaller {
  return {
    fetch: createLeasedFetch(lease, deps.fenceFetch(lease.isHeld)),
    guarded: createLeasedSafeFetch(deps.guardedFetch, lease),
    attest: deps.attestor.attest,
    next: (address) => resolveNextHop(deps.host, position, address),
    cardIn(document, address) {
      const read = readJrd(document, address)
      return read.ok ? read.card : undefined
    },
  }
}

/** The same for another agent of ours that was asked in between: one place further. */
export function remoteCallerForAgent(
  deps: { readonly host: () => Promise<string> },
  given: RemoteCaller,
  position: ChainPosition,
): RemoteCaller {
  return { ...given, next: (address) => resolveNextHop(deps.host, position, address) }
}

async function resolveNextHop(
  host: () => Promise<string>,
  { agent, chain, root }: ChainPosition,
  address: string | undefined,
): Promise<NextHop> {
  const { caller = startCallerContext(root), link } = chain
  if (isAddressOfCaller(caller, address)) return { ok: false, code: 'gw:agent_loop' }
  const next = nextAgentChain(link, { isFromAgent: link !== undefined || caller.chain_depth > 0 })
  if (!next.ok) return { ok: false, code: next.code }
  // A peer that counts lower does not make the chain shorter.
  const chain_depth = Math.max(caller.chain_depth, next.chain.hop - 1)
  const hop = createNextCallChain({ ...caller, chain_depth }, { agent, host: await host() })
  return hop === undefined
    ? { ok: false, code: 'gw:hop_limit' }
    : { ok: true, headers: callerHeaders(hop), chain: { ...next.chain } }
}

/** Asking back the agent that waits for us. Of others we know no more than their root; they know themselves. */
function isAddressOfCaller({ caller_agent, caller_host }: CallerContext, address: string | undefined): boolean {
  const asked = address === undefined ? undefined : parseAddress(address)
  if (asked === undefined || caller_agent === null || !URL.canParse(caller_host)) return false
  return asked.local === caller_agent && asked.domain === new URL(caller_host).hostname
}

function createLeasedSafeFetch({ pins, fetch }: SafeFetch, { isHeld, untilHeld }: TurnLease): SafeFetch {
  return {
    pins,
    async fetch(url, options) {
      await untilHeld()
      return fetch(url, { ...options, mayLeave: isHeld })
    },
  }
}

// A request waits until the turn's lease is safely ours.

/** `send` asks once more at the first byte. */
export function createLeasedFetch({ untilHeld }: Pick<Lease, 'untilHeld'>, send: typeof fetch): typeof fetch {
  return async (input, init) => {
    await untilHeld()
    return send(input, init)
  }
}

// The chain of agents a turn stands in. It goes with what the turn leaves for later: an agent that is woken by its own timer, or
// by a person's approval, stands where it stood.

export type TurnChain = {
  /** What the last agent said about itself; absent where a person began. */
  readonly caller?: CallerContext
  readonly link?: AgentChain
}

/** Beside what an agent puts there itself: no key of its own begins like this. */
const key = 'gw:chain'

/** `lead`: the message that the turn began with. */
export function agentChainOfTurn(
  lead: Pick<NormalizedMessage, 'channel' | 'recipient_capabilities'> | undefined,
  carried: TurnChain | undefined,
): TurnChain {
  if (lead === undefined) return carried ?? {}
  const caller = lead.channel?.caller
  const link = lead.recipient_capabilities.agent_chain
  return { ...(caller === undefined ? {} : { caller }), ...(link === undefined ? {} : { link }) }
}

/** For what is stored: unchanged at the top of a chain. */
export function addChainToPayload(payload: JsonObject, { caller, link }: TurnChain): JsonObject {
  if (link === undefined && (caller === undefined || caller.chain_depth === 0)) return payload
  return {
    ...payload,
    [key]: { ...(caller === undefined ? {} : { caller }), ...(link === undefined ? {} : { place: link }) },
  }
}

/** What was stored, taken apart again. */
export function takeChainFromPayload(payload: JsonObject): {
  readonly chain: TurnChain | undefined
  readonly rest: JsonObject
} {
  const { [key]: carried, ...rest } = payload
  if (typeof carried !== 'object' || carried === null || Array.isArray(carried))
    return { chain: undefined, rest: payload }
  const { caller, place: link } = carried as Fields
  const read = callerContextSchema.safeParse(caller)
  return {
    chain: {
      ...(read.success ? { caller: read.data } : {}),
      // Written above, from a message that was checked.
      ...(link === undefined ? {} : { link: link as AgentChain }),
    },
    rest,
  }
}

// Cancels remote agents of a run that was stopped while no process ran it: its process died before it could tell them. The process
// that takes the turn up tells them. A process that dies here too leaves it to the next.

const patienceMs = 5_000

type CancelRemoteContext = {
  readonly emit: (type: string, metadata: Fields) => void
  readonly chain: TurnChain
  readonly lease: TurnLease
  readonly signal: AbortSignal
}

/** A remote agent that cannot be told changes nothing about the stop. */
export async function cancelRemoteTasks(
  deps: TurnServices,
  ready: TurnContext,
  context: CancelRemoteContext,
): Promise<void> {
  const { turn, lane, journalTurn } = ready
  const calls = listUnfinishedCalls(await deps.journal.remoteSteps(journalTurn))
  const signal = AbortSignal.any([context.signal, AbortSignal.timeout(patienceMs)])
  await Promise.all(
    calls.map(async ({ prefix, opened, asked }) => {
      const agent = deps.agents.get(askedAgentOfStepPrefix(prefix) ?? lane.agent)
      if (agent?.cancelRemote === undefined) return
      const position = { agent: agent.slug, chain: context.chain, root: turn.id }
      const { fetch, guarded, next } = createRemoteAgentCaller(deps, context.lease, position)
      const hop = await next()
      const access = { fetch, guarded, headers: hop.ok ? hop.headers : {}, signal }
      const isReported = await agent.cancelRemote({ opened, asked }, access).then(
        () => true,
        () => false,
      )
      context.emit('remote_cancelled', { reported: isReported })
    }),
  )
}

type Steps = Awaited<ReturnType<JournalStore['remoteSteps']>>
type UnfinishedCall = { readonly prefix: string; readonly opened: unknown; readonly asked: unknown }

/** What was asked and not answered; the steps of one call share what stands before their names. */
function listUnfinishedCalls(steps: Steps): readonly UnfinishedCall[] {
  const prefixes = [...new Set(steps.map(({ step }) => stepNameUpToLastSlash(step)))]
  return prefixes.flatMap((prefix) => {
    const findRemoteStep = (name: string) => steps.find(({ step }) => step.startsWith(`${prefix}remote ${name}`))
    const [opened, asked, answer] = ['agent', 'message', 'answer'].map(findRemoteStep)
    const isOpen = opened?.result !== undefined && asked !== undefined && answer?.state !== 'finished'
    return isOpen
      ? [{ prefix, opened: opened.result, asked: asked.state === 'finished' ? asked.result : undefined }]
      : []
  })
}

function stepNameUpToLastSlash(step: string): string {
  return step.slice(0, step.lastIndexOf('/') + 1)
}

/** The last one that was asked on the way; undefined: the turn's own. */
function askedAgentOfStepPrefix(prefix: string): string | undefined {
  return prefix === '' ? undefined : prefix.split('/').at(-2)?.split(':')[0]
}
