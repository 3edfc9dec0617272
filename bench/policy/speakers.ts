// People and rules for the policy scenario: exact subjects, workspaces, issuers with methods, and denials, hits and misses alike.
import { mintEvidence, type Sender, verifiedSender } from '../../src/contract/index.ts'

export type Speaker = {
  readonly sender: Sender
  readonly isAllowed: boolean
  readonly subject: string
  readonly message: { readonly audience: string; readonly now: number; readonly origin: 'in-process' }
}

const recipient = '@demo@parley.localhost'
const issuedAt = '2026-11-16T12:00:00.000Z'

/** Every second one is let in; of those every fourth through their workspace. */
export function speakers(count: number): readonly Speaker[] {
  return Array.from({ length: count }, (_, at) => {
    const subject = `space:T${at % 8 === 0 ? 1 : 1_000 + at}/U${at}`
    const evidence = mintEvidence({
      subject,
      issuer: 'parley.localhost',
      method: 'urn:bench:member:v1',
      assurance: 'platform',
      recipient,
      issuedAt,
      claims: { room: `R${at}` },
    })
    const shown = { address: `@u${at}@space.parley.localhost`, auth_method: 'bench' }
    const message = { audience: recipient, now: Date.parse(issuedAt), origin: 'in-process' } as const
    return { sender: verifiedSender([evidence], shown), isAllowed: at % 2 === 0, subject, message }
  })
}

/** One rule for the workspace, one for each other member, some denials, and the rest about people who are not here. */
export function ruleList(count: number, people: readonly Speaker[]): readonly object[] {
  const members = people.filter(({ isAllowed, subject }) => isAllowed && !subject.startsWith('space:T1/'))
  const strangers = people.filter(({ isAllowed }) => !isAllowed).slice(0, 100)
  const rules: object[] = [
    { effect: 'allow', subject_prefix: 'space:T1/' },
    ...members.map(({ subject }) => ({ effect: 'allow', subject })),
    ...strangers.map(({ subject }) => ({ effect: 'deny', subject })),
  ]
  while (rules.length < count) rules.push(otherRule(rules.length))
  return rules
}

function otherRule(at: number): object {
  const kinds = [
    { effect: 'allow', subject: `other:T${at}/U${at}` },
    { effect: 'allow', subject_prefix: `other:T${at}/`, min_assurance: 'platform' },
    { effect: 'deny', subject: `other:T${at}/BANNED` },
    { effect: 'allow', issuer: `gateway-${at}.example`, method: 'urn:bench:member:v1' },
  ]
  return kinds[at % kinds.length] ?? {}
}
