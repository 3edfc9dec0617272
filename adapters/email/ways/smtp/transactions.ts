// One mail over one connection: MAIL, RCPT, DATA, and what the client is told in the end.
import type { SMTPServerOptions, SMTPServerSession } from 'smtp-server'
import type { IngressContext, ListenResult } from '../../../../src/contract/index.ts'
import type { ReceivedMail } from '../../wire/mail.ts'
import type { SmtpClients } from './clients.ts'
import { type BodyStream, type ByteBudget, collectData } from './collect.ts'
import type { SmtpConnections } from './lines.ts'
import { answerReply, type Reply, recipientReply, replies, smtpError } from './replies.ts'
import type { SmtpDeps, SmtpLimits } from './settings.ts'

export type TransactionDeps = SmtpDeps & {
  readonly door: IngressContext
  readonly limits: SmtpLimits
  readonly clients: SmtpClients
  readonly lines: SmtpConnections
  readonly room: ByteBudget
}

type Transactions = Pick<Required<SMTPServerOptions>, 'onMailFrom' | 'onRcptTo' | 'onData'>

const ascii = /^[\x21-\x7e]*$/

export function createTransactions(deps: TransactionDeps): Transactions {
  const { clients, lines, limits } = deps
  return {
    onMailFrom({ address, args }, session, callback) {
      if (!ascii.test(address)) return callback(smtpError(replies.notAscii))
      const { SIZE: declared = 0 } = { ...(args as { readonly SIZE?: string | number } | false | undefined) }
      if (Number(declared) > clients.maxBytes(session.remoteAddress, Number.POSITIVE_INFINITY))
        return callback(smtpError(replies.tooMuch))
      callback(clients.maySend(session.remoteAddress) ? null : smtpError(replies.tooFast))
    },
    onRcptTo({ address }, session, callback) {
      void judgeRecipient(deps, session, address).then((reply) => {
        if (reply === undefined) return callback()
        if (clients.refused(session.id) > limits.refusedRecipients) lines.hangUp(session.id, replies.guessing)
        else callback(smtpError(reply))
      })
    },
    onData(stream, session, callback) {
      lines.busy.add(session.id)
      const hangUpLate = (): void => lines.hangUp(session.id, replies.tooLong)
      const late = setTimeout(hangUpLate, limits.dataMs)
      const maxBytes = clients.maxBytes(session.remoteAddress, deps.maxBytes)
      const isCut = maxBytes < deps.maxBytes
      const incompleteReply = (why: keyof typeof incomplete): Reply =>
        why === 'too_large' && isCut ? replies.tooMuch : incomplete[why]
      const onHopeless = (why: keyof typeof incomplete): void => lines.hangUp(session.id, incompleteReply(why))
      // Node's own stream; the portable program does not know its type.
      const body = stream as unknown as BodyStream
      const room = clients.roomFor(session.id, deps.room)
      void collectData(body, { maxBytes, room, onHopeless })
        .finally(() => clearTimeout(late))
        .then((collected) =>
          collected.kind === 'whole'
            ? replyTo({ ...deps, room }, session, collected.raw)
            : incompleteReply(collected.kind),
        )
        .then((reply) => {
          if (reply === undefined) callback(null, '2.6.0 stored')
          else callback(smtpError(reply))
          lines.free(session.id)
        })
    },
  }
}

async function judgeRecipient(
  { recipientOf, limits }: TransactionDeps,
  { envelope }: SMTPServerSession,
  address: string,
): Promise<Reply | undefined> {
  if (!ascii.test(address)) return replies.notAscii
  if (envelope.rcptTo.length >= limits.recipients) return replies.tooManyRecipients
  try {
    return recipientReply(await recipientOf(address))
  } catch {
    return replies.later
  }
}

/** The client is gone: it cannot be told that its mail was cut. */
const incomplete = {
  too_large: replies.tooLarge,
  too_fine: replies.tooFine,
  no_room: replies.noRoom,
  cut: replies.later,
} as const

/** Undefined: it is stored. Nothing here throws: a client that waits is always answered. */
async function replyTo(deps: TransactionDeps, session: SMTPServerSession, raw: Uint8Array): Promise<Reply | undefined> {
  try {
    const answer = await answerInTime(
      deps.door.receive(deps.own.add(receivedMail(deps, session, raw))),
      deps.limits.answerMs,
    )
    if (answer.isUnproven === true) deps.clients.unproven(session.remoteAddress, raw.byteLength)
    return answerReply(answer)
  } catch {
    return replies.later
  } finally {
    deps.room.give(raw.byteLength)
  }
}

function receivedMail({ now }: TransactionDeps, session: SMTPServerSession, raw: Uint8Array): ReceivedMail {
  const { envelope, remoteAddress, hostNameAppearsAs } = session
  return {
    way: 'smtp',
    raw,
    envelope: {
      mailFrom: envelope.mailFrom === false ? '' : envelope.mailFrom.address,
      rcptTo: envelope.rcptTo.map(({ address }) => address),
      clientIp: remoteAddress,
      helo: hostNameAppearsAs,
    },
    receivedAt: new Date(now()).toISOString(),
  }
}

/** What is stored later than this comes a second time and is recognised then. */
async function answerInTime(work: Promise<ListenResult>, limitMs: number): Promise<ListenResult> {
  const late = Promise.withResolvers<ListenResult>()
  const timer = setTimeout(() => late.resolve({ kind: 'later', reason: 'too_slow' }), limitMs)
  try {
    return await Promise.race([work, late.promise])
  } finally {
    clearTimeout(timer)
  }
}
