// Where files are kept on Workers: in the store whose variables are set, else in the bucket that is bound.
import { openBlobStore, type RuntimeFiles } from '../assemble/attachments.ts'
import type { Config } from '../config.ts'
import type { BlobStore } from '../files/blob-store.ts'
import { createR2Store } from '../files/drivers/r2.ts'
import type { WorkerEnv } from './settings.ts'

/** What handles call the bucket: the binding does not tell its own name. */
const boundBucket = 'attachments'

/** Undefined: no store is configured, or the URL under which they could be served is unknown. */
export function createWorkerFiles(
  { attachments, publicUrl }: Pick<Config, 'attachments' | 'publicUrl'>,
  { ATTACHMENTS: binding }: Pick<WorkerEnv, 'ATTACHMENTS'>,
): RuntimeFiles | undefined {
  if (publicUrl === undefined) return undefined
  const bound = binding === undefined ? [] : [createR2Store({ binding, bucket: boundBucket })]
  const chosen = attachments.store === undefined ? [] : [openBlobStore(attachments.store, (...args) => fetch(...args))]
  const [first, ...others]: readonly BlobStore[] = [...chosen, ...bound]
  return first === undefined ? undefined : { stores: [first, ...others], origin: new URL(publicUrl).origin }
}
