// Approval terms: until when, who may decide, in what words.

import { type AssuranceClass, assuranceClasses } from '../../contract/mint-evidence.ts'
import { isPlainObject } from '../../lib/index.ts'
import type { Fields } from '../../lib/json-value.ts'
import { joinSentences, type Sentence, say } from '../../locales/say.ts'

/** Roles that a stored grant gives, weakest first. */
export const approverRoles = ['viewer', 'operator', 'admin'] as const

/** Who may decide. All of what is said has to hold. */
export type ApproverTerms = {
  /** True: only who it is for. False: every user but them. */
  readonly requester?: boolean
  /** Only these, by their subject or principal: `space:T123/U456`. */
  readonly principals?: readonly string[]
  /** Only people whom a grant gives this role, or a stronger one, for the agent. */
  readonly role?: (typeof approverRoles)[number]
  /** Only people whose account is proven at least this strongly where they decide. */
  readonly assurance?: AssuranceClass
}

/** In one word: who it is for, `anyone` who reaches the question, a user `other` than who it is for, or an `operator`; else terms. */
export type Resolvers = 'requester' | 'anyone' | 'other' | 'operator' | ApproverTerms

export type ApprovalTerms<Parameters = Fields> = {
  readonly expiresInMs?: number
  /** Without it: the person it is for; where there is none, as for a timer, an operator. */
  readonly by?: Resolvers
  /** What would happen, in one line. It is shown and stored: leave secrets out. */
  readonly summary?: (parameters: Parameters) => string
}

export const defaultExpiryMs = 30 * 60_000

const words: readonly unknown[] = ['requester', 'anyone', 'other', 'operator']
const maxPrincipals = 100

/** What is wrong with it; undefined: nothing. */
export function approversProblem(by: unknown): string | undefined {
  if (by === undefined || words.includes(by)) return undefined
  if (!isPlainObject(by) || Object.keys(by).length === 0)
    return "by must be 'requester', 'anyone', 'other', 'operator', or terms such as { role: 'operator' }"
  const unknown = Object.keys(by).find((key) => !['requester', 'principals', 'role', 'assurance'].includes(key))
  if (unknown !== undefined) return `by.${unknown} is not known; use requester, principals, role or assurance`
  const { requester, principals, role, assurance } = by
  if (requester !== undefined && typeof requester !== 'boolean') return 'by.requester must be true or false'
  if (principals !== undefined && !isListOfSubjects(principals))
    return `by.principals must be a list of 1 to ${maxPrincipals} subjects, such as space:T123/U456`
  if (role !== undefined && !(approverRoles as readonly unknown[]).includes(role))
    return `by.role must be one of ${approverRoles.join(', ')}`
  if (assurance !== undefined && !(assuranceClasses as readonly unknown[]).includes(assurance))
    return `by.assurance must be one of ${assuranceClasses.join(', ')}`
  return undefined
}

/** As they are stored with the question: the requester counts only where there is one. */
export function fillDefaultApprovers(by: Resolvers | undefined, hasRequester: boolean): Resolvers {
  return by === undefined || by === 'requester' ? (hasRequester ? 'requester' : 'operator') : by
}

/** Who may decide, in words that go on "It takes …". */
export function describeApprovers(by: Resolvers): Sentence {
  switch (by) {
    case 'requester':
      return say('approver.requester')
    case 'anyone':
      return say('approver.anyone')
    case 'other':
      return say('approver.other')
    case 'operator':
      return say('approver.operator')
  }
  const { requester, principals, role, assurance } = by
  const who = [
    ...(requester === true ? [say('approver.requester')] : []),
    ...(requester === false ? [say('approver.other')] : []),
    ...(principals === undefined ? [] : [say('approver.named')]),
    ...(role === undefined ? [] : [say('approver.role', { role })]),
    ...(assurance === undefined ? [] : [say('approver.assurance', { assurance })]),
  ]
  return joinSentences(who, ', ')
}

function isListOfSubjects(value: unknown): boolean {
  if (!Array.isArray(value) || value.length === 0 || value.length > maxPrincipals) return false
  return value.every((subject) => typeof subject === 'string' && subject.includes(':') && subject.length <= 512)
}
