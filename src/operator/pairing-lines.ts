// A message that had to wait for its sender to be let in, in words.
import { shownCode } from '../identity/pairing/pairing-code.ts'
import type { MessageFacts, PairingFacts } from './explain-store.ts'
import { between } from './span-words.ts'
import { line, type NextStep, type StoryLine } from './story.ts'

export function pairingLines({ pairing, connection, receivedAt }: MessageFacts): readonly StoryLine[] {
  if (pairing === null) return []
  const where = pairing.agent === '*' ? connection : `the agent ${pairing.agent} on ${connection}`
  const code = shownCode(pairing.code)
  // A later message of a stranger waits for the pairing that their first one opened.
  const at = pairing.createdAt < receivedAt ? receivedAt : pairing.createdAt
  const held = `Its sender was not known to ${where}; the code to let them in is ${code}, valid until ${pairing.expiresAt}.`
  return [line(at, 'Held', held, pairing.status === 'pending' ? 'wait' : 'plain'), ...decided(pairing)]
}

function decided({ status, decidedAt, decidedBy, createdAt }: PairingFacts): readonly StoryLine[] {
  if (decidedAt === null) return []
  const after = `${between(createdAt, decidedAt)} after the code was given`
  switch (status) {
    case 'approved':
      return [
        line(decidedAt, 'Let in', `by ${decidedBy}, ${after}. What had been held went back to the queue.`, 'good'),
      ]
    case 'rejected':
      return [line(decidedAt, 'Turned away', `by ${decidedBy}, ${after}.`, 'bad')]
    default:
      return [line(decidedAt, 'Expired', `No operator decided about the sender, ${after}.`, 'bad')]
  }
}

export function pairingSteps({ pairing }: MessageFacts): readonly NextStep[] {
  if (pairing === null) return []
  const code = shownCode(pairing.code)
  return [
    { text: 'to let the sender in, and have this answered', command: `parley pairings approve ${code}` },
    { text: 'or turn them away', command: `parley pairings reject ${code}` },
  ]
}

const shutOut: ReadonlySet<string> = new Set([
  'not_on_allow_list',
  'not_paired',
  'too_many_held',
  'pairings_full',
  'pairing_rejected',
  'pairing_expired',
])

/** What lets the sender of a refused message in the next time. The message itself is over. */
export function admissionSteps({ reason, subject, connection }: MessageFacts): readonly NextStep[] {
  if (reason === null || subject === null) return []
  const who = quoted(subject)
  if (reason === 'blocked') return [{ text: 'to take the block back', command: `parley grants unblock ${who}` }]
  if (!shutOut.has(reason)) return []
  return [
    {
      text: 'to let the sender in from now on; then ask them to write again',
      command: `parley grants add ${who} --connection ${connection}`,
    },
  ]
}

/** A subject is whatever a platform calls a user: it must not become more than one word of a command. */
function quoted(subject: string): string {
  return /^[\w:/@.+#=-]+$/.test(subject) ? subject : `'${subject.replaceAll("'", `'\\''`)}'`
}
