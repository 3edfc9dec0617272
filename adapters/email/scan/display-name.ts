// The display name before an address: shown, never decided by.
import { cleanName } from '../../../src/contract/index.ts'
import { decodeWords } from './words.ts'

const maxWritten = 1000
const misleading = /@|:\/\/|\bwww\.|\p{Cf}/iu

/**
 * Empty where it could pass for something else: an address, a link, text that turns around or hides, one of `ownNames`
 * (the agents' own, in any case).
 */
export function readDisplayName(written: string, ownNames: readonly string[] = []): string {
  const decoded = decodeWords(written.slice(0, maxWritten))
  const name = cleanName(decoded)
  // Width variants of `@` look like it.
  const plain = name.normalize('NFKC')
  if (misleading.test(decoded) || misleading.test(plain)) return ''
  const isOwn = ownNames.some((own) => own !== '' && plain.toLowerCase().includes(own.normalize('NFKC').toLowerCase()))
  return isOwn ? '' : name
}
