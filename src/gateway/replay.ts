// `replay`: a stored message once more through today's code and agent, its effects answered from the journal. Writes
// nothing, sends nothing, and says how what would be sent differs from what was.
import { GatewayError } from '../contract/index.ts'
import type { ReplayStore, Stored } from '../db/replay.ts'
import type { GatewayConnection, GatewayDeps } from './deps.ts'
import { cleanedFixture, type Fixture, type FixtureRequest } from './replay/fixture.ts'
import { type Account, describeAccount, diffLines, formatSortedJson } from './replay/line-diff.ts'
import type { StepReport } from './replay/recorded-journal.ts'
import { runAgain } from './replay/run-again.ts'

export type ReplayRequest = { readonly fixture: FixtureRequest }

export type ReplayReport = {
  readonly turnId: string | null
  readonly inboxIds: readonly string[]
  readonly connection: string
  readonly agent: string
  readonly isSame: boolean
  /** Lines with ' ', '-' (before) or '+' (today) before them. */
  readonly diff: readonly string[]
  readonly before: Account
  readonly today: Account
  readonly steps: StepReport
  /** How the message was read, and what of it could not be tried. */
  readonly notes: readonly string[]
  readonly fixture?: Fixture
}

export async function replay(
  deps: GatewayDeps,
  store: ReplayStore,
  id: string,
  { fixture }: ReplayRequest,
): Promise<ReplayReport> {
  const stored = await store.find(id, deps.turnPolicy.historyHead, deps.turnPolicy.historyTail)
  if (stored === undefined)
    throw new GatewayError('not_found', '[replay] no stored message, turn or delivery has this id')
  const at = findReplayConnection(deps, stored)
  refuseWhatNeverRan(stored)
  const before = replayAccount(stored)
  const { today, steps, notes } = await runAgain(deps, at, stored)
  return {
    turnId: stored.turn?.id ?? null,
    inboxIds: stored.members.map((member) => member.id),
    connection: stored.connection,
    agent: stored.agent,
    isSame: formatSortedJson(before) === formatSortedJson(today),
    diff: diffLines(describeAccount(before), describeAccount(today)),
    before,
    today,
    steps,
    notes,
    ...(fixture === 'none' ? {} : { fixture: cleanedFixture(stored, fixture) }),
  }
}

function findReplayConnection(deps: GatewayDeps, { tenant, connection }: Stored): GatewayConnection {
  const at = deps.connections.find((each) => each.key === connection && each.connection.tenant === tenant)
  if (at !== undefined) return at
  throw new GatewayError(
    'conflict',
    `[replay] connection ${connection} is not configured here; replay where parley.config.ts or the environment names it`,
  )
}

function refuseWhatNeverRan({ turn }: Stored): void {
  if (turn?.kind === 'amendment')
    throw new GatewayError('conflict', '[replay] an edit of an earlier message: it was recorded, and no agent ran')
  if (turn?.kind === 'control')
    throw new GatewayError('conflict', '[replay] a command for the gateway itself: no agent ran')
  if (turn?.state === 'split')
    throw new GatewayError('conflict', '[replay] this turn failed and its messages ran one by one; replay each of them')
}

/** What came of it, in the words the replay uses: what the vendor did with the answer is not the agent's doing. */
function replayAccount({ turn, members, calls, timers }: Stored): Account {
  const sent = { calls, timers }
  // In an access challenge no agent ran, and what was said was the gateway's.
  if (turn === null || turn.kind === 'door') {
    const [first] = members
    return { ...sent, calls: [], outcome: first?.state ?? 'unknown', reason: first?.reason ?? null }
  }
  const isDelivery = turn.state === 'dead' && turn.reason?.startsWith('delivery_') === true
  if (isDelivery || turn.state === 'replied' || turn.state === 'answered')
    return { ...sent, outcome: 'replied', reason: null }
  return { ...sent, outcome: turn.state, reason: turn.state === 'dead' ? turn.reason : null }
}
