// For agents that decide by themselves: is there evidence of this kind behind a message?
import { hasSubjectPrefix, type IdentityEvidence, type PolicySender } from '../../contract/index.ts'
import { filterAcceptedEvidence } from './accepted-evidence.ts'
import { atLeast } from './assurance.ts'

export type IdentityQuestion = {
  readonly method: string
  /** The least that will do. */
  readonly assurance?: string
  readonly subject?: string
  /** Ends in `/`, `:` or `#`; any other prefix matches no sender. */
  readonly subjectPrefix?: string
  readonly issuer?: string
}

/** The evidence that answers the question, or undefined. Reads no name, address, profile or channel. */
export function hasIdentity(
  message: { readonly sender: PolicySender },
  question: IdentityQuestion,
): IdentityEvidence | undefined {
  const { method, assurance, subject, subjectPrefix, issuer } = question
  return filterAcceptedEvidence(message.sender).find(
    (evidence) =>
      evidence.method === method &&
      (assurance === undefined || atLeast(evidence.assurance, assurance)) &&
      (subject === undefined || evidence.subject === subject) &&
      (subjectPrefix === undefined || hasSubjectPrefix(evidence.subject, subjectPrefix)) &&
      (issuer === undefined || evidence.issuer === issuer),
  )
}
