// Scenario `email`: what it costs to take a signed mail of 10 KB in over SMTP, beside the same libraries with nothing around them.
import type { Asked } from './arguments.ts'
import { besideTable, compare, judgeBeside } from './platforms/compare.ts'
import { emailZone } from './platforms/email.ts'
import type { Say, ScenarioResults } from './scenario.ts'
import { connectionCounts, runTaking, type Taking } from './taking.ts'

const gateways: Taking['gateways'] = {
  noop: { storage: 'nothing', drains: false },
  postgres: { storage: 'postgres', drains: false },
}

/** Aim: our own part is at most a quarter of what the libraries do as they are documented. */
const beside = { 'mail-libraries': 1.25, 'mail-signatures': null }
const rivals = Object.keys(beside)
const judged = ['noop', 'postgres']

export const emailSubjects: readonly string[] = [...rivals, ...Object.keys(gateways)]

export async function runEmail(asked: Asked, say: Say): Promise<ScenarioResults> {
  say('making keys')
  // A signature takes a millisecond to make: not more of them than a fast machine takes in.
  const taking: Taking = { wire: 'email', gateways, rivals, warmRequests: 1500, firstRate: 1000, zone: emailZone() }
  const results = await runTaking(taking, asked, say)
  const summaries = compare(results.samples, rivals)
  const [many] = connectionCounts
  const rates = summaries
    .filter(({ connections }) => connections === many)
    .map(({ subject, cpuMicrosPerRequest }) => `${subject} ${(1e6 / cpuMicrosPerRequest.median).toFixed(0)}`)
  const tables = [
    ...connectionCounts.map((connections) => besideTable(summaries, connections, rivals)),
    `mails per CPU second, ${many} connections: ${rates.join(', ')}`,
  ]
  const verdicts = judgeBeside(summaries, many, beside, judged)
  return { ...results, summaries, verdicts, tables: tables.join('\n\n') }
}
