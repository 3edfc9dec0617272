// Scenario `accept`: what it costs to take a signed webhook in, from the first byte to the answer after the commit.
import type { Asked } from './arguments.ts'
import { tableOf } from './report.ts'
import type { Say, ScenarioResults } from './scenario.ts'
import { judge, summarize } from './summary.ts'
import { connectionCounts, runTaking, type Taking } from './taking.ts'

const taking: Taking = {
  wire: 'loopback',
  gateways: {
    noop: { storage: 'nothing', drains: false },
    postgres: { storage: 'postgres', drains: false },
    'postgres-drain': { storage: 'postgres', drains: true },
  },
  rivals: [],
  warmRequests: 12_000,
}

export const acceptSubjects: readonly string[] = ['floor', ...Object.keys(taking.gateways)]

export async function runAccept(asked: Asked, say: Say): Promise<ScenarioResults> {
  const results = await runTaking(taking, asked, say)
  const summaries = summarize(results.samples)
  const tables = connectionCounts.map((connections) => tableOf(summaries, connections)).join('\n\n')
  return { ...results, summaries, verdicts: judge(summaries, connectionCounts[0]), tables }
}
