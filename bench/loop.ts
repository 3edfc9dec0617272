// Scenario `loop`: what a turn costs beside what the agent itself does. The loop alone beside the bare loop of the AI SDK; a
// turn through the gateway beside one of a plain function; a turn in a long conversation beside one in a short one.
import type { Asked } from './arguments.ts'
import { agents, type BareRun, bareRuns } from './loop/agents.ts'
import { type Cost, type LoopGateway, startLoopGateway } from './loop/gateway.ts'
import { type LoopSample, loopTables, loopVerdicts } from './loop/report.ts'
import { growSessions, longLength, shortLength } from './loop/sessions.ts'
import { startPostgres } from './postgres.ts'
import { waitForQuiet } from './quiet.ts'
import type { Say, ScenarioResults } from './scenario.ts'

export const loopSubjects: readonly string[] = ['alone', 'postgres']

const runsPerSample = 300
const turnsPerSample = 48
/** Conversations of one sample in the comparison of lengths; each long one has ten thousand rows. */
const sessionsPerSample = 8
const pairsPerRound = 4
const maxQuietMs = 2_000

export async function runLoopScenario(asked: Asked, say: Say): Promise<ScenarioResults> {
  const postgres = asked.subjects.includes('postgres') ? await startPostgres() : undefined
  const samples: LoopSample[] = []
  try {
    if (asked.subjects.includes('alone')) samples.push(...(await bare(asked, say)))
    if (postgres !== undefined) {
      const gateway = await startLoopGateway(postgres)
      try {
        samples.push(...(await turns(gateway, asked, say)))
        samples.push(...(await lengths(gateway, asked, say)))
      } finally {
        await gateway.close()
      }
    }
  } finally {
    await postgres?.stop()
  }
  return {
    samples,
    summaries: [],
    verdicts: loopVerdicts(samples),
    tables: loopTables(samples),
    postgresVersion: postgres?.version,
  }
}

/** Round by round one after the other, after a warm-up whose figures are thrown away. */
async function bare({ rounds }: Asked, say: Say): Promise<readonly LoopSample[]> {
  const samples: LoopSample[] = []
  for (let round = 0; round <= rounds; round += 1) {
    say(`alone: round ${round} of ${rounds}`)
    const idleBefore = await waitForQuiet(round === 0 ? 0 : maxQuietMs)
    for (const subject of bareRuns) {
      const cost = await measure(subject, round === 0 ? runsPerSample * 3 : runsPerSample)
      if (round > 0) samples.push({ part: 'alone', storage: 'none', subject: subject.name, round, idleBefore, ...cost })
    }
  }
  return samples
}

async function measure({ run }: BareRun, times: number): Promise<Cost> {
  const [startedAt, cpu] = [performance.now(), process.cpuUsage()]
  for (let time = 0; time < times; time += 1) await run()
  const { user, system } = process.cpuUsage(cpu)
  const ms = performance.now() - startedAt
  return { turns: times, ms, cpuMicros: user + system, databaseCpuMicros: null, statements: {} }
}

async function turns(gateway: LoopGateway, { rounds }: Asked, say: Say): Promise<readonly LoopSample[]> {
  const samples: LoopSample[] = []
  for (let round = 0; round <= rounds; round += 1) {
    say(`postgres: turns, round ${round} of ${rounds}`)
    const idleBefore = await waitForQuiet(round === 0 ? 0 : maxQuietMs)
    for (const { slug } of agents) {
      for (let time = 0; time < (round === 0 ? 5 : 1); time += 1) {
        const cost = await gateway.takeTurns(slug, names(`turn-${round}-${time}`, turnsPerSample))
        if (round > 0) samples.push({ part: 'turns', storage: 'postgres', subject: slug, round, idleBefore, ...cost })
      }
    }
  }
  return samples
}

/** A short conversation is used once, so that it stays short; which of the two goes first changes from pair to pair. */
async function lengths(gateway: LoopGateway, { rounds }: Asked, say: Say): Promise<readonly LoopSample[]> {
  say(`postgres: making conversations of ${longLength} messages`)
  const long = names('long', sessionsPerSample)
  await growSessions(gateway, long, longLength)
  const samples: LoopSample[] = []
  for (let pair = 0; pair <= rounds * pairsPerRound; pair += 1) {
    if (pair % pairsPerRound === 1) say(`postgres: lengths, pair ${pair} of ${rounds * pairsPerRound}`)
    const short = names(`short-${pair}`, sessionsPerSample)
    await growSessions(gateway, short, shortLength)
    const idleBefore = await waitForQuiet(pair === 0 ? 0 : maxQuietMs / 4)
    const order = pair % 2 === 0 ? ([short, long] as const) : ([long, short] as const)
    for (const conversations of order) {
      const cost = await gateway.takeTurns('answer', conversations)
      const subject = conversations === long ? 'long' : 'short'
      // The first pair warms up the statements.
      if (pair > 0) samples.push({ part: 'lengths', storage: 'postgres', subject, round: pair, idleBefore, ...cost })
    }
  }
  return samples
}

function names(prefix: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}-${index}`)
}
