// Scenario `a2a`: what a whole request of another agent costs, from the first byte to the answer of a finished task, beside the
// SDK's own server, which keeps nothing. And how long somebody who asks for a stream waits for its first event.
import type { Asked } from './arguments.ts'
import { besideTable, compare, judgeBeside } from './platforms/compare.ts'
import type { Say, ScenarioResults } from './scenario.ts'
import { connectionCounts, runTaking, type Taking } from './taking.ts'

const gateways: Taking['gateways'] = { postgres: { storage: 'postgres', drains: true } }
const rivals = ['a2a-sdk'] as const

export const a2aSubjects: readonly string[] = [...rivals, ...Object.keys(gateways)]

/** Until code is compiled; a turn is a hundred times what accepting is. */
const warmRequests = 600

export async function runA2a(asked: Asked, say: Say): Promise<ScenarioResults> {
  const sent = await runTaking({ wire: 'a2a', gateways, rivals, warmRequests, says: 'completed' }, asked, say)
  say('the same as streams')
  const streamed = await runTaking({ wire: 'a2a-stream', gateways, rivals, warmRequests, says: 'streamed' }, asked, say)
  const summaries = compare(sent.samples, rivals)
  const streams = compare(streamed.samples, rivals)
  const tables = connectionCounts.flatMap((connections) => [
    `SendMessage, ${besideTable(summaries, connections, rivals)}`,
    `SendStreamingMessage, milliseconds until the first event, ${besideTable(streams, connections, rivals)}`,
  ])
  // No more CPU than a server that keeps nothing.
  const verdicts = judgeBeside(summaries, connectionCounts[0], { 'a2a-sdk': 1 })
  const named = streams.map((each) => ({ ...each, subject: `${each.subject}-stream` }))
  return {
    samples: [...sent.samples, ...streamed.samples],
    summaries: [...summaries, ...named],
    verdicts,
    tables: tables.join('\n\n'),
    postgresVersion: sent.postgresVersion,
  }
}
