// Scenarios `telegram` and `slack`: what it costs to take a platform's own webhooks in and keep them, beside libraries that
// keep nothing.
import type { Asked } from './arguments.ts'
import { type Beside, besideTable, compare, judgeBeside, judgeLinks } from './platforms/compare.ts'
import type { Say, ScenarioResults } from './scenario.ts'
import { connectionCounts, runTaking, type Taking } from './taking.ts'

const gateways: Taking['gateways'] = {
  noop: { storage: 'nothing', drains: false },
  postgres: { storage: 'postgres', drains: false },
}

type Platform = 'telegram' | 'slack'

/** Aims: a sixth of Chat SDK's CPU and no more than Bolt's, while they keep nothing and we do. */
const beside: Readonly<Record<Platform, Beside>> = {
  telegram: { 'chat-sdk': 1 / 6, grammy: null },
  slack: { 'chat-sdk': 1 / 6, bolt: 1 },
}

export const platformSubjects: Readonly<Record<Platform, readonly string[]>> = {
  telegram: [...Object.keys(beside.telegram), ...Object.keys(gateways)],
  slack: [...Object.keys(beside.slack), ...Object.keys(gateways)],
}

export function runPlatform(platform: Platform): (asked: Asked, say: Say) => Promise<ScenarioResults> {
  return async (asked, say) => {
    const rivals = Object.keys(beside[platform])
    const results = await runTaking({ wire: platform, gateways, rivals, warmRequests: 12_000 }, asked, say)
    const summaries = compare(results.samples, rivals)
    const tables = connectionCounts.map((connections) => besideTable(summaries, connections, rivals)).join('\n\n')
    const [many] = connectionCounts
    const verdicts = [...judgeBeside(summaries, many, beside[platform]), ...judgeLinks(results.samples, many)]
    return { ...results, summaries, verdicts, tables }
  }
}
