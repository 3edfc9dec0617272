// People and rules for the policy scenario: exact subjects, workspaces, issuers with methods, and denials, hits and misses alike.

import type { AccessEntry, StoredAccess, StoredGrant } from '../../src/contract/access.ts'
import { mintEvidence, type Sender, verifiedSender } from '../../src/contract/index.ts'
import type { AccessContext } from '../../src/identity/access-policy.ts'

export type Speaker = {
  readonly sender: Sender
  readonly isAllowed: boolean
  readonly subject: string
  /** What was stored about them, as it is read with a message. */
  readonly stored: StoredAccess
  readonly isGranted: boolean
}

const recipient = '@demo@parley.localhost'
const issuedAt = '2026-11-16T12:00:00.000Z'

/** Every second one is let in: every eighth through their workspace, every tenth by a stored grant, the others by name. */
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
    const isGranted = at % 10 === 4
    const stored = storedAbout(subject, isGranted)
    return { sender: verifiedSender([evidence], shown), isAllowed: at % 2 === 0, subject, stored, isGranted }
  })
}

/** Where they are decided about: one rule object, as a configuration has it. */
export function sceneOf(rule: AccessContext['rule'], { stored }: Speaker): AccessContext {
  return { connection: 'chat/team', agent: 'demo', rule, own: undefined, recipient, receivedAt: issuedAt, stored }
}

/** Everybody has a link and grants for other places; some have one that lets them in here. */
function storedAbout(subject: string, isGranted: boolean): StoredAccess {
  const grant = (id: string, agent: string): StoredGrant => ({
    id,
    subject,
    effect: 'allow',
    role: 'operator',
    connection: null,
    agent,
    workspaceId: null,
  })
  return {
    grants: [grant('g1', 'other'), grant('g2', 'another'), ...(isGranted ? [grant('g3', 'demo')] : [])],
    links: [{ subject: `${subject}/old`, principal: subject }],
    pairings: [],
    told: 0,
    toldAll: 0,
  }
}

/** One rule for the workspace, one for each other member, some denials, and the rest about people who are not here. */
export function ruleList(count: number, people: readonly Speaker[]): readonly AccessEntry[] {
  const members = people.filter(
    ({ isAllowed, isGranted, subject }) => isAllowed && !isGranted && !subject.startsWith('space:T1/'),
  )
  const strangers = people.filter(({ isAllowed }) => !isAllowed).slice(0, 100)
  const rules: AccessEntry[] = [
    { effect: 'allow', subject_prefix: 'space:T1/' },
    ...members.map(({ subject }) => ({ effect: 'allow', subject }) as const),
    ...strangers.map(({ subject }) => ({ effect: 'deny', subject }) as const),
  ]
  while (rules.length < count) rules.push(otherRule(rules.length))
  return rules
}

function otherRule(at: number): AccessEntry {
  const kinds: readonly AccessEntry[] = [
    { effect: 'allow', subject: `other:T${at}/U${at}` },
    { effect: 'allow', subject_prefix: `other:T${at}/`, min_assurance: 'platform' },
    { effect: 'deny', subject: `other:T${at}/BANNED` },
    { effect: 'allow', issuer: `gateway-${at}.example`, method: 'urn:bench:member:v1' },
  ]
  return kinds[at % kinds.length] ?? { effect: 'deny', subject: 'nobody' }
}
