// What a reply says about itself: every status reads differently, and nothing internal is shown (hop 8).
import type { NormalizedResponse } from '../contract/index.ts'

type Status = NormalizedResponse['status']

/** Said after the agent's own words, so that a reader sees that this is not a plain answer. */
const labels: Readonly<Record<Status, string>> = {
  completed: '',
  input_required: '[Waiting for your reply]',
  refused: '[Refused]',
  failed: '[Not completed]',
  cancelled: '[Cancelled]',
}

/** Said where the agent left no words. */
const sentences: Readonly<Record<Status, string>> = {
  completed: 'Done.',
  input_required: 'More information is needed to go on. Please reply with details.',
  refused: 'This request was refused.',
  failed: 'Something went wrong and the request was not completed. Please try again later.',
  cancelled: 'The request was cancelled.',
}

// Error messages may quote internals; a code of this form cannot.
const safeCode = /^[a-z0-9][a-z0-9_.:-]{0,63}$/

/** What stands after the agent's words, or instead of them; may be empty. */
export function statusWords(reply: NormalizedResponse, hasWords: boolean): string {
  const words = hasWords ? labelOf(reply) : sentences[reply.status]
  const code = reply.status === 'failed' || reply.status === 'refused' ? reply.error?.code : undefined
  return code !== undefined && safeCode.test(code) ? `${words} (${code})` : words
}

/** A question that a policy part asks says itself what it waits for. */
function labelOf({ status, parts }: NormalizedResponse): string {
  const isAsked = status === 'input_required' && parts.some((part) => part.kind === 'policy')
  return isAsked ? '' : labels[status]
}
