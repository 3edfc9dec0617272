// A listener on a free port, with a door that the test answers, and addresses that it knows.
import {
  createReceivedMailRegistry,
  type OwnMail,
  type RecipientKind,
} from '../../../../../adapters/email/ingress/received.ts'
import { createSmtpListener } from '../../../../../adapters/email/smtp/listen.ts'
import type { SmtpLimits, SmtpSettings } from '../../../../../adapters/email/smtp/settings.ts'
import type { ReceivedMail } from '../../../../../adapters/email/wire/mail.ts'
import type { RawRequest, ReceiveResult } from '../../../../../src/contract/index.ts'
import { type SmtpClient, smtpClient } from './smtp-client.ts'

export type SmtpScene = AsyncDisposable & {
  readonly port: number
  readonly mails: readonly ReceivedMail[]
  readonly arrivals: readonly RawRequest[]
  /** Greeted already. */
  readonly connect: (from?: string) => Promise<SmtpClient>
  readonly stop: () => Promise<void>
}

export const stored: ReceiveResult = { kind: 'stored', acceptances: [] }

const known: Readonly<Record<string, RecipientKind>> = {
  'helper@agents.example': 'agent',
  'second@agents.example': 'agent',
  'asleep@agents.example': 'disabled',
  'bounce+abc@agents.example': 'bounce',
}

export type SceneOptions = {
  readonly answer?: (mail: ReceivedMail) => Promise<ReceiveResult> | ReceiveResult
  readonly limits?: Partial<SmtpLimits>
  readonly maxBytes?: number
  readonly tls?: SmtpSettings['tls']
}

export async function smtpScene({ answer = () => stored, limits = {}, maxBytes = 1_000_000, tls }: SceneOptions = {}) {
  const own = createReceivedMailRegistry()
  const mails: ReceivedMail[] = []
  const arrivals: RawRequest[] = []
  const recipientOf = (address: string): RecipientKind => {
    if (!address.endsWith('@agents.example')) return 'foreign'
    return known[address] ?? (/^helper\d+@/.test(address) ? 'agent' : 'unknown')
  }
  const settings: SmtpSettings = { host: '127.0.0.1', port: 0, name: 'mx.agents.example', limits, tls }
  const listen = createSmtpListener(settings, { own, recipientOf, maxBytes, now: Date.now })
  const receive = async (arrival: RawRequest): Promise<ReceiveResult> => {
    const { mail } = own.find(arrival) as Extract<OwnMail, { kind: 'mail' }>
    arrivals.push(arrival)
    mails.push(mail)
    return answer(mail)
  }
  const { address, stop } = await listen({ receive }, new AbortController().signal)
  const port = Number(new URL(address).port)
  const scene: SmtpScene = {
    port,
    mails,
    arrivals,
    stop,
    async connect(from) {
      const client = await smtpClient(port, from)
      await client.reply()
      return client
    },
    [Symbol.asyncDispose]: stop,
  }
  return scene
}

/** From EHLO to the 354 after DATA. */
export const opening = [
  'EHLO client.example',
  'MAIL FROM:<ada@example.org>',
  'RCPT TO:<helper@agents.example>',
  'DATA',
] as const

export const words = 'From: ada@example.org\r\nSubject: hi\r\nMessage-ID: <1@example.org>\r\n\r\nhello\r\n'
