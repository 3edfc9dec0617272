// Scenario `policy`: what hop 6 costs: evidence checked, decided by the rules of a configuration and stored grants, principal.
import type { AccessRule } from '../src/contract/index.ts'
import { createAccessPolicy, createEvidenceAccess, readEvidenceRules } from '../src/identity/access-policy.ts'
import { createEvidenceResolver } from '../src/identity/principals.ts'
import type { Asked } from './arguments.ts'
import { ruleList, type Speaker, sceneOf, speakers } from './policy/speakers.ts'
import { waitForQuiet } from './quiet.ts'
import { type Spread, spreadOf } from './statistics.ts'
import type { Verdict } from './summary.ts'

/** How many rules; the aim is judged at a thousand. */
const ruleCounts = [1_000, 10_000, 100_000] as const
/** It is measured whole. */
export const policySubjects: readonly string[] = ['rules']
const judgedCount = 1_000
const aimMicros = 50
const decisionsPerSample = 20_000
const maxQuietMs = 2_000

type PolicySample = {
  readonly subject: string
  readonly round: number
  readonly decisions: number
  readonly cpuMicrosPerDecision: number
  /** The decision by rules alone, without checking the evidence and making the principal. */
  readonly cpuMicrosPerRuleDecision: number
  readonly idleBefore: number
}
type PolicySummary = {
  readonly subject: string
  readonly cpuMicrosPerDecision: Spread
  readonly cpuMicrosPerRuleDecision: Spread
}

export async function runPolicy(asked: Asked, say: (text: string) => void) {
  const people = speakers(1_000)
  const samples: PolicySample[] = []
  for (const count of ruleCounts) {
    const rules = ruleList(count, people)
    const access = createEvidenceAccess(readEvidenceRules({ visibility: 'restricted', rules }))
    const rule: AccessRule = { mode: 'allow_list', allow: [], rules }
    await provePolicy(rule, people)
    for (let round = 0; round <= asked.rounds; round += 1) {
      say(`${count} rules: round ${round} of ${asked.rounds}`)
      const idleBefore = await waitForQuiet(round === 0 ? 0 : maxQuietMs)
      const whole = await micros(people, (speaker) => decide(rule, speaker))
      const byRules = await micros(people, (speaker) => access.decide(speaker.sender))
      const sample = { subject: `${count} rules`, round, decisions: decisionsPerSample, idleBefore }
      // The first round warms up and is thrown away.
      if (round > 0) samples.push({ ...sample, cpuMicrosPerDecision: whole, cpuMicrosPerRuleDecision: byRules })
    }
  }
  const summaries = summarize(samples)
  return {
    samples,
    summaries,
    verdicts: summaries.flatMap(judge),
    tables: tableOf(summaries),
    postgresVersion: undefined,
  }
}

/** Both as the gateway has them. */
const policy = createAccessPolicy()
const resolver = createEvidenceResolver()
const scene = { agent: 'demo', connector: 'team-chat', provider: 'chat', workspace: 'default' }

/** The principal, or nobody. */
async function decide(rule: AccessRule, speaker: Speaker): Promise<string | undefined> {
  const { sender, stored } = speaker
  const decision = await policy.decide(sender, sceneOf(rule, speaker))
  if (decision.kind !== 'admitted') return undefined
  return (await resolver.resolve(sender, { ...scene, evidence: decision.evidence, links: stored.links }))?.id
}

/** A decision that is always no would be fast as well: every second one is let in. */
async function provePolicy(rule: AccessRule, people: readonly Speaker[]): Promise<void> {
  for (const speaker of people) {
    const who = speaker.isAllowed ? speaker.subject : undefined
    if ((await decide(rule, speaker)) !== who) throw new Error('the rules decide otherwise than they say')
  }
}

async function micros(people: readonly Speaker[], work: (speaker: Speaker) => unknown): Promise<number> {
  const before = process.cpuUsage()
  for (let done = 0; done < decisionsPerSample; done += 1) {
    const speaker = people[done % people.length]
    if (speaker !== undefined) await work(speaker)
  }
  const { user, system } = process.cpuUsage(before)
  return (user + system) / decisionsPerSample
}

function summarize(samples: readonly PolicySample[]): readonly PolicySummary[] {
  return [...Map.groupBy(samples, ({ subject }) => subject)].map(([subject, own]) => ({
    subject,
    cpuMicrosPerDecision: spreadOf(own.map((each) => each.cpuMicrosPerDecision)),
    cpuMicrosPerRuleDecision: spreadOf(own.map((each) => each.cpuMicrosPerRuleDecision)),
  }))
}

function judge({ subject, cpuMicrosPerDecision }: PolicySummary): readonly Verdict[] {
  if (subject !== `${judgedCount} rules`) return []
  const value = cpuMicrosPerDecision.median
  return [{ subject, measure: 'CPU µs per decision', value, aim: aimMicros, isMet: value <= aimMicros }]
}

function tableOf(summaries: readonly PolicySummary[]): string {
  const cell = ({ median, min, max }: Spread) => `${median.toFixed(1)} (${min.toFixed(1)} - ${max.toFixed(1)})`
  const rows = summaries.map(
    (each) => `| ${each.subject} | ${cell(each.cpuMicrosPerDecision)} | ${cell(each.cpuMicrosPerRuleDecision)} |`,
  )
  return ['| subject | CPU µs/decision | of it the rules |', '| --- | --- | --- |', ...rows].join('\n')
}
