// Mail that Amazon SES received: told through SNS, with the mail inside or in a bucket. What SES says of SPF and DKIM is not read: the raw
// mail is judged here like any other.
import * as z from 'zod'
import type { ChannelDeps, RawRequest } from '../../../../src/contract/index.ts'
import type { IngressSettings } from '../settings.ts'
import { type IngressResult, mailTooLarge } from './hop.ts'
import { type FetchedContent, fetchFromBucket } from './s3.ts'
import { bytesFromBase64, type SnsDeps, verifySns } from './sns.ts'

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

type SesReceipt = z.output<typeof receivedSchema>

export type SesDeps = Pick<ChannelDeps, 'fetch'> & SnsDeps & { readonly maxBytes: number }

export async function verifySes(
  { topicArns, s3 }: NonNullable<IngressSettings['ses']>,
  deps: SesDeps,
  arrival: RawRequest,
): Promise<IngressResult> {
  const verdict = await verifySns(topicArns, deps, arrival)
  if (verdict.kind !== 'notification') return verdict
  const received = receivedSchema.safeParse(parseJson(verdict.message))
  if (!received.success)
    return { kind: 'turned_away', reason: 'no_received_mail', remedy: 'publish received mail here' }
  const { mail, receipt } = received.data
  const content = await readMailContent(received.data, s3, deps)
  if (content.kind !== 'fetched') return content
  const envelope = { mailFrom: mail.source, rcptTo: receipt.recipients }
  return { kind: 'mail', mail: { way: 'ses', raw: content.raw, envelope, receivedAt: arrival.receivedAt } }
}

async function readMailContent(
  { content, receipt: { action } }: SesReceipt,
  s3: NonNullable<IngressSettings['ses']>['s3'],
  deps: SesDeps,
): Promise<FetchedContent> {
  if (content !== undefined) {
    const raw = action?.encoding === 'BASE64' ? bytesFromBase64(content) : new TextEncoder().encode(content)
    return raw === undefined
      ? rejectedContent('unreadable_content', 'publish the mail as UTF-8 or Base64')
      : withinMailLimit(raw, deps)
  }
  const { bucketName: bucket, objectKey: key } = action ?? {}
  if (bucket === undefined || key === undefined)
    return rejectedContent('no_content', 'publish the mail itself, or store it in a bucket')
  return s3 === undefined
    ? rejectedContent('no_bucket_access', 'set the credentials for the bucket')
    : fetchFromBucket(s3, deps, { bucket, key })
}

function withinMailLimit(raw: Uint8Array, { maxBytes }: Pick<SesDeps, 'maxBytes'>): FetchedContent {
  return raw.byteLength > maxBytes ? mailTooLarge : { kind: 'fetched', raw }
}

function rejectedContent(reason: string, remedy: string): FetchedContent {
  return { kind: 'turned_away', reason, remedy }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
