// Email ingress over webhooks: signatures, replays, and which servers we call because of a sender's words.

import { webhookAnswer } from '../../../src/api/http-answers.ts'
import { secret } from '../../../src/lib/secret.ts'
import {
  hookScene,
  mailgunFields,
  mime,
  multipartArrival,
  nowSeconds,
  sesReceived,
  snsArrival,
  textOf,
  topic,
  webhookArrival,
} from '../../unit/adapters/email/webhooks/webhook-setup.ts'
import type { Case } from '../conform.ts'

type Scene = ReturnType<typeof hookScene>
type Hop = Awaited<ReturnType<Scene['hopOf']>>

/** What the sender is answered; a mail goes on to be stored. */
function statusOf(hop: Hop): number | string {
  return hop.kind === 'rejected' ? webhookAnswer({ ...hop, trace: '' }).status : hop.kind
}

const foreign = 'https://sns.eu-west-1.amazonaws.com.evil.example'

export const hookCases: readonly Case[] = [
  {
    id: 'EM-056',
    claim: 'a bad signature and a stale timestamp are 401; a replay is the same mail, which accepting recognises',
    async run() {
      const { hopOf } = hookScene()
      const stale = { headers: { 'x-mail-timestamp': String(nowSeconds - 600) } }
      const hops = [await hopOf(await webhookArrival({ secret: 'wrong' })), await hopOf(await webhookArrival(stale))]
      const [first, again] = [await hopOf(await webhookArrival()), await hopOf(await webhookArrival())]
      return { statuses: hops.map(statusOf), isSame: JSON.stringify(first) === JSON.stringify(again), kind: again.kind }
    },
    equals: { statuses: [401, 401], isSame: true, kind: 'mail' },
  },
  {
    id: 'EM-057',
    claim: 'a token with another body than its first is refused',
    async run() {
      const { hopOf } = hookScene()
      const fields = mailgunFields()
      const changed = { ...fields, 'body-mime': mime.replace('hell', 'hull') }
      return [statusOf(await hopOf(multipartArrival(fields))), statusOf(await hopOf(multipartArrival(changed)))]
    },
    equals: ['mail', 401],
  },
  {
    id: 'EM-058',
    claim: 'a foreign topic, certificate or subscription is 403, and nobody is called',
    async run() {
      const { hopOf, called } = hookScene()
      const subscription = { Type: 'SubscriptionConfirmation', Token: 't' }
      const arrivals = [
        snsArrival({ TopicArn: `${topic}-other` }),
        ...[
          `${foreign}/x.pem`,
          'http://sns.eu-west-1.amazonaws.com/x.pem',
          'https://evil.example/sns.eu-west-1.amazonaws.com/x.pem',
        ].map((SigningCertURL) => snsArrival({ SigningCertURL })),
        snsArrival({ SigningCertURL: 'https://sns.eu-west-1.amazonaws.com@evil.example/x.pem' }),
        snsArrival({ SigningCertURL: 'https://sns.eu-west-1.amazonaws.com:8443/x.pem' }),
        snsArrival({ ...subscription, SubscribeURL: `${foreign}/?Action=ConfirmSubscription` }),
        snsArrival({ ...subscription, SubscribeURL: 'http://169.254.169.254/latest/meta-data' }),
      ]
      const statuses: (number | string)[] = []
      for (const each of arrivals) statuses.push(statusOf(await hopOf(each)))
      return { statuses, called }
    },
    equals: { statuses: Array.from({ length: 8 }, () => 403), called: [] },
  },
  {
    id: 'EM-059',
    claim: 'a mail in a bucket is fetched by its key, under our credentials, and no more of it than allowed',
    async run() {
      const requests: { url: string; isSigned: boolean }[] = []
      const fetch = async (input: RequestInfo | URL): Promise<Response> => {
        const { url, headers } = input as Request
        const isSigned = headers.get('authorization')?.startsWith('AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/') ?? false
        requests.push({ url, isSigned })
        return new Response(url.includes('large') ? new Uint8Array(2_000_000) : Buffer.from(mime, 'latin1'))
      }
      const s3 = {
        region: 'eu-west-1',
        accessKeyId: 'AKIDEXAMPLE',
        secretAccessKey: secret('k'.repeat(40)),
        buckets: ['mails'],
      }
      const { hopOf } = hookScene({ ses: { topicArns: [topic], s3 } }, fetch)
      const told = (bucketName: string, objectKey: string) => {
        const action = { type: 'S3', bucketName, objectKey }
        const receipt = { recipients: ['helper@agents.example'], action }
        return snsArrival({ Message: JSON.stringify(sesReceived({ content: undefined, receipt })) })
      }
      const hops = [
        await hopOf(told('mails', 'in/o3vrnil0 e2ic')),
        await hopOf(told('mails', 'large')),
        await hopOf(told('of-somebody-else', 'in/1')),
      ]
      const [fetched] = hops
      const raw = fetched?.kind === 'mail' ? textOf(fetched.mail.raw) : ''
      return { raw, reasons: hops.map((hop) => ('reason' in hop ? hop.reason : hop.kind)), requests }
    },
    equals: {
      raw: mime,
      reasons: ['mail', 'mail_too_large', 'foreign_bucket'],
      requests: [
        { url: 'https://s3.eu-west-1.amazonaws.com/mails/in/o3vrnil0%20e2ic', isSigned: true },
        { url: 'https://s3.eu-west-1.amazonaws.com/mails/large', isSigned: true },
      ],
    },
  },
  {
    id: 'EM-062',
    claim: 'an event that its provider sends ten times is ten times the same mail, to be accepted once',
    async run() {
      const { hopOf } = hookScene()
      const mails = new Set<string>()
      for (let count = 0; count < 10; count += 1) mails.add(JSON.stringify(await hopOf(snsArrival())))
      return mails.size
    },
    equals: 1,
  },
]
