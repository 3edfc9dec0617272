// Mail that Amazon SES received: told through SNS, with the mail inside or in a bucket. What SES says of SPF and DKIM is not read: the raw
// mail is judged here like any other.
import * as z from 'zod'
import type { ChannelDeps, RawArrival } from '../../../../src/contract/index.ts'
import type { WaysSettings } from '../settings.ts'
import { type Hop, tooLarge } from './hop.ts'
import { type FetchedMail, fetchFromBucket } from './s3.ts'
import { bytesOfBase64, judgeSns, type SnsDeps } from './sns.ts'

const address = z.string().max(320)

const receivedSchema = z.object({
  notificationType: z.literal('Received'),
  mail: z.object({ source: address.optional() }),
  receipt: z.object({
    recipients: z.array(address).min(1).max(50),
    action: z
      .object({
        type: z.string(),
        encoding: z.string().optional(),
        bucketName: z.string().max(100).optional(),
        objectKey: z.string().max(1024).optional(),
      })
      .optional(),
  }),
  content: z.string().optional(),
})

type Received = z.output<typeof receivedSchema>

export type SesDeps = Pick<ChannelDeps, 'fetch'> & SnsDeps & { readonly maxBytes: number }

export async function sesHop(
  { topicArns, s3 }: NonNullable<WaysSettings['ses']>,
  deps: SesDeps,
  arrival: RawArrival,
): Promise<Hop> {
  const verdict = await judgeSns(topicArns, deps, arrival)
  if (verdict.kind !== 'notification') return verdict
  const received = receivedSchema.safeParse(parsed(verdict.message))
  if (!received.success)
    return { kind: 'turned_away', reason: 'no_received_mail', remedy: 'publish received mail here' }
  const { mail, receipt } = received.data
  const content = await contentOf(received.data, s3, deps)
  if (content.kind !== 'fetched') return content
  const envelope = { mailFrom: mail.source, rcptTo: receipt.recipients }
  return { kind: 'mail', mail: { way: 'ses', raw: content.raw, envelope, receivedAt: arrival.receivedAt } }
}

async function contentOf(
  { content, receipt: { action } }: Received,
  s3: NonNullable<WaysSettings['ses']>['s3'],
  deps: SesDeps,
): Promise<FetchedMail> {
  if (content !== undefined) {
    const raw = action?.encoding === 'BASE64' ? bytesOfBase64(content) : new TextEncoder().encode(content)
    return raw === undefined
      ? turnedAway('unreadable_content', 'publish the mail as UTF-8 or Base64')
      : bounded(raw, deps)
  }
  const { bucketName: bucket, objectKey: key } = action ?? {}
  if (bucket === undefined || key === undefined)
    return turnedAway('no_content', 'publish the mail itself, or store it in a bucket')
  return s3 === undefined
    ? turnedAway('no_bucket_access', 'set the credentials for the bucket')
    : fetchFromBucket(s3, deps, { bucket, key })
}

function bounded(raw: Uint8Array, { maxBytes }: Pick<SesDeps, 'maxBytes'>): FetchedMail {
  return raw.byteLength > maxBytes ? tooLarge : { kind: 'fetched', raw }
}

function turnedAway(reason: string, remedy: string): FetchedMail {
  return { kind: 'turned_away', reason, remedy }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
