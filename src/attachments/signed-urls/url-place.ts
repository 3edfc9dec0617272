// Where signed URLs may come from, as data: our own origin, and the stores that sign URLs themselves.
import type { BlobStore, StoreUrls } from '../blob-store.ts'

/** Our own handles look like Supabase's; only their origin and their key are ours. */
export type SignedUrlOrigin = {
  readonly form: StoreUrls['form'] | 'own'
  /** Scheme, host and port, as a URL shows them. */
  readonly origin: string
  /** Set where the host itself names the bucket. */
  readonly hostBucket?: string
  readonly buckets: readonly UrlBucket[]
}

export type UrlBucket = { readonly store: string; readonly bucket: string; readonly prefixes: readonly string[] }

export function listSignedUrlOrigins(
  stores: readonly Pick<BlobStore, 'name' | 'bucket' | 'urls'>[],
  ownOrigin: string,
  prefixes: readonly string[],
): readonly SignedUrlOrigin[] {
  const toUrlBucket = ({ name, bucket }: Pick<BlobStore, 'name' | 'bucket'>) => ({ store: name, bucket, prefixes })
  const own: SignedUrlOrigin = { form: 'own', origin: ownOrigin, buckets: stores.map(toUrlBucket) }
  const foreign = stores.flatMap((store) =>
    store.urls === undefined ? [] : listStoreOrigins(store.urls, toUrlBucket(store)),
  )
  return [own, ...foreign]
}

function listStoreOrigins(
  { hosts, form, isVirtualHosted = false }: StoreUrls,
  bucket: UrlBucket,
): readonly SignedUrlOrigin[] {
  return hosts.flatMap((host) => {
    const byPath: SignedUrlOrigin = { form, origin: `https://${host}`, buckets: [bucket] }
    if (form !== 's3' || !isVirtualHosted) return [byPath]
    return [byPath, { ...byPath, origin: `https://${bucket.bucket}.${host}`, hostBucket: bucket.bucket }]
  })
}
