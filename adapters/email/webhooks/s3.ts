// Fetches mails that SES put into an S3 bucket, by their key, within the limit.
import type { ChannelDeps } from '../../../src/contract/index.ts'
import { readStream, type Secret } from '../../../src/lib/index.ts'
import { mailTooLarge } from '../ingress/received.ts'

export type S3Settings = {
  readonly region: string
  readonly accessKeyId: string
  readonly secretAccessKey: Secret
  /** Only these are read, whatever a notification names. */
  readonly buckets: readonly string[]
  /** Another store than Amazon's: `{endpoint}/{bucket}/{key}`. */
  readonly endpoint?: string | undefined
}

export type FetchedContent =
  | { readonly kind: 'fetched'; readonly raw: Uint8Array }
  | { readonly kind: 'later'; readonly reason: string }
  | { readonly kind: 'rejected_event'; readonly reason: string; readonly remedy: string }

const timeoutMs = 30_000

export async function fetchFromBucket(
  settings: S3Settings,
  { fetch, maxBytes }: Pick<ChannelDeps, 'fetch'> & { readonly maxBytes: number },
  { bucket, key }: { readonly bucket: string; readonly key: string },
): Promise<FetchedContent> {
  if (!settings.buckets.includes(bucket))
    return rejectedContent('foreign_bucket', 'add the bucket to those that are read')
  const { AwsClient } = await import('aws4fetch')
  const { region, accessKeyId, secretAccessKey } = settings
  const client = new AwsClient({ accessKeyId, secretAccessKey: secretAccessKey.reveal(), region, service: 's3' })
  try {
    const request = await client.sign(bucketObjectUrl(settings, bucket, key), { method: 'GET' })
    const answer = await fetch(request, { redirect: 'manual', signal: AbortSignal.timeout(timeoutMs) })
    if (answer.status === 404) return rejectedContent('object_gone', 'keep the objects until they are read')
    if (answer.status !== 200) return { kind: 'later', reason: 'bucket_unavailable' }
    // Counted, whatever the server says of the length.
    const raw = answer.body === null ? new Uint8Array() : await readStream(answer.body, maxBytes)
    return raw === undefined ? mailTooLarge : { kind: 'fetched', raw }
  } catch {
    return { kind: 'later', reason: 'bucket_unavailable' }
  }
}

function bucketObjectUrl({ region, endpoint }: S3Settings, bucket: string, key: string): string {
  const path = key.split('/').map(encodeURIComponent).join('/')
  return `${endpoint ?? `https://s3.${region}.amazonaws.com`}/${bucket}/${path}`
}

function rejectedContent(reason: string, remedy: string): FetchedContent {
  return { kind: 'rejected_event', reason, remedy }
}
