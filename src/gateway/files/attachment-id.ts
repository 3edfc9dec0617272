// Ids of files that may be brought twice after a crash: made of what they are, so that the second time finds the first.
import { canonicalJson } from '../../agent/tools/canonical-json.ts'
import type { Json } from '../../contract/index.ts'

export async function deriveAttachmentId(hash: (text: string) => Promise<string>, what: Json): Promise<string> {
  const hex = await hash(canonicalJson(what))
  // RFC 9562 section 5.8: version 8 is for ids of one's own making.
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}
