// What a reply says about itself: every status reads differently, and nothing internal is shown (hop 8).
import type { NormalizedResponse } from '../contract/index.ts'

type Status = NormalizedResponse['status']

/** Said after the agent's own words, so that a reader sees that this is not a plain answer. */
const labels: Readonly<Record<Status, string>> = {
  completed: '',
  input_required: "I'm waiting for your reply.",
  refused: "I can't do more about this.",
  failed: 'I could not finish this. Please try again later.',
  cancelled: 'I stopped here.',
}

/** Said where the agent left no words. */
const sentences: Readonly<Record<Status, string>> = {
  completed: 'Done.',
  input_required: 'I need to know more to go on. Please reply with details.',
  refused: "I can't help with this.",
  failed: 'Something went wrong, and I could not finish this. Please try again later.',
  cancelled: 'I stopped here. Write again when you want me to go on.',
}

/** What stands after the agent's words, or instead of them; may be empty. Codes are for machines: they stay in `error`. */
export function statusWords(reply: NormalizedResponse, hasWords: boolean): string {
  return hasWords ? statusLabel(reply) : sentences[reply.status]
}

/** A question says itself what it waits for, and so do words that tell what went wrong. */
function statusLabel({ status, parts, error }: NormalizedResponse): string {
  const isAsked = status === 'input_required' && parts.some((part) => part.kind === 'policy')
  const last = parts.at(-1)
  const isTold = last?.kind === 'text' && error !== undefined && error.message === last['content']
  return isAsked || isTold ? '' : labels[status]
}
