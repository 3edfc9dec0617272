// A message that had to wait for its sender to be let in, in words.

import type { MessageFacts, PairingFacts } from '../db/explain.ts'
import { formatPairingCode } from '../identity/pairing.ts'
import { durationBetween } from './span-words.ts'
import { type NextStep, type TimelineEntry, timelineEntry } from './story.ts'

export function pairingEntries({ pairing, connection, receivedAt }: MessageFacts): readonly TimelineEntry[] {
  if (pairing === null) return []
  const where = pairing.agent === '*' ? connection : `the agent ${pairing.agent} on ${connection}`
  const code = formatPairingCode(pairing.code)
  // A later message of a stranger waits for the pairing that their first one opened.
  const at = pairing.createdAt < receivedAt ? receivedAt : pairing.createdAt
  const held = `Its sender was not known to ${where}; the code to let them in is ${code}, valid until ${pairing.expiresAt}.`
  return [
    timelineEntry(at, 'Held', held, pairing.status === 'pending' ? 'wait' : 'plain'),
    ...pairingDecisionEntries(pairing),
  ]
}

function pairingDecisionEntries({ status, decidedAt, decidedBy, createdAt }: PairingFacts): readonly TimelineEntry[] {
  if (decidedAt === null) return []
  const after = `${durationBetween(createdAt, decidedAt)} after the code was given`
  switch (status) {
    case 'approved':
      return [
        timelineEntry(
          decidedAt,
          'Let in',
          `by ${decidedBy}, ${after}. What had been held went back to the queue.`,
          'good',
        ),
      ]
    case 'rejected':
      return [timelineEntry(decidedAt, 'Turned away', `by ${decidedBy}, ${after}.`, 'bad')]
    default:
      return [timelineEntry(decidedAt, 'Expired', `No operator decided about the sender, ${after}.`, 'bad')]
  }
}

export function pairingSteps({ pairing }: MessageFacts): readonly NextStep[] {
  if (pairing === null) return []
  const code = formatPairingCode(pairing.code)
  return [
    { text: 'to let the sender in, and have this answered', command: `parley pairings approve ${code}` },
    { text: 'or turn them away', command: `parley pairings reject ${code}` },
  ]
}

const notAdmittedReasons: ReadonlySet<string> = new Set([
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
  const who = quoteForShell(subject)
  if (reason === 'blocked') return [{ text: 'to take the block back', command: `parley grants unblock ${who}` }]
  if (!notAdmittedReasons.has(reason)) return []
  return [
    {
      text: 'to let the sender in from now on; then ask them to write again',
      command: `parley grants add ${who} --connection ${connection}`,
    },
  ]
}

/** A subject is whatever a platform calls a user: it must not become more than one word of a command. */
function quoteForShell(subject: string): string {
  return /^[\w:/@.+#=-]+$/.test(subject) ? subject : `'${subject.replaceAll("'", `'\\''`)}'`
}
