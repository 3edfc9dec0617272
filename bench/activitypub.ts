// Scenario `activitypub`: what it costs to take a signed post of another server in, beside a plain Fedify inbox, which keeps nothing;
// and what it costs to turn large bodies away that nobody signed.
import { type Flood, floodTable, judgeFlood, runFlood } from './activitypub-flood.ts'
import type { Asked } from './arguments.ts'
import { startPeople } from './platforms/activitypub.ts'
import { besideTable, compare, judgeBeside } from './platforms/compare.ts'
import type { Say, ScenarioResults } from './scenario.ts'
import { connectionCounts, runTaking, type Taking } from './taking.ts'

const gateways: Taking['gateways'] = {
  noop: { storage: 'nothing', drains: false },
  postgres: { storage: 'postgres', drains: false },
}
const rivals = ['fedify'] as const
const flood = 'flood'

export const activitypubSubjects: readonly string[] = [...rivals, ...Object.keys(gateways), flood]

/** Aim: three times as many posts per CPU second, since nothing is processed as linked data before it is verified, and little after. */
const beside = { fedify: 1 / 3 }

export async function runActivityPub(asked: Asked, say: Say): Promise<ScenarioResults> {
  const people = await startPeople()
  try {
    // A signature takes a millisecond to make: not more of them than a fast machine takes in.
    const taking: Taking = {
      wire: 'activitypub',
      gateways,
      rivals,
      warmRequests: 1500,
      firstRate: 1500,
      peopleUrl: people.url,
    }
    const subjects = asked.subjects.filter((name) => name !== flood)
    const results = await runTaking(taking, { ...asked, subjects }, say)
    const flooded: readonly Flood[] = asked.subjects.includes(flood) ? await runFlood(asked, people.url, say) : []
    const summaries = compare(results.samples, rivals)
    const [many] = connectionCounts
    const rates = summaries
      .filter(({ connections }) => connections === many)
      .map(({ subject, cpuMicrosPerRequest }) => `${subject} ${(1e6 / cpuMicrosPerRequest.median).toFixed(0)}`)
    const tables = [
      ...connectionCounts.map((connections) => besideTable(summaries, connections, rivals)),
      `posts per CPU second, ${many} connections: ${rates.join(', ')}`,
      floodTable(flooded),
    ]
    const verdicts = [...judgeBeside(summaries, many, beside), ...judgeFlood(flooded)]
    return { ...results, summaries: [...summaries, ...flooded], verdicts, tables: tables.join('\n\n') }
  } finally {
    await people.stop()
  }
}
