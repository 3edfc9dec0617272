// Whether what a sender declared can be true of the bytes. Families, because senders name types loosely.

type Family = 'image' | 'media' | 'text' | 'archive' | 'document' | 'font' | 'program'

/** Types with an unmistakable beginning: bytes without it are something else, even when we cannot say what. */
const unmistakable = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'application/pdf'])

const familiesByType: Readonly<Record<string, readonly Family[]>> = {
  // A picture by name, and markup that runs: a sender that declares pixels did not send this.
  'image/svg+xml': ['text'],
  'application/pdf': ['document'],
  'application/rtf': ['document', 'text'],
  'text/rtf': ['document', 'text'],
  'application/postscript': ['document', 'text'],
  'application/ogg': ['media'],
  'application/json': ['text'],
  'application/xml': ['text'],
  'application/xhtml+xml': ['text'],
  'application/javascript': ['text'],
  'application/x-tar': ['archive'],
  'application/gzip': ['archive'],
  'application/x-gzip': ['archive'],
  'application/zstd': ['archive'],
  'application/x-bzip2': ['archive'],
  'application/x-xz': ['archive'],
  'application/x-7z-compressed': ['archive'],
  'application/x-ole-storage': ['archive'],
  'application/java-archive': ['archive'],
  'application/vnd.rar': ['archive'],
  'application/x-rar-compressed': ['archive'],
  'application/msword': ['archive'],
  'application/x-elf': ['program'],
  'application/x-mach-binary': ['program'],
  'application/wasm': ['program'],
  'application/vnd.microsoft.portable-executable': ['program'],
}
// Office files are zip files, or the older container of theirs.
const familyPatterns: readonly (readonly [RegExp, Family])[] = [
  [/^image\//, 'image'],
  [/^(audio|video)\//, 'media'],
  [/^text\/|\+(json|xml)$/, 'text'],
  [/zip|^application\/vnd\.(ms-|openxmlformats-|oasis\.|android\.package)/, 'archive'],
  [/^font\//, 'font'],
]

export function isTypePlausible(declared: string | undefined, sniffed: string): boolean {
  const claimed = mimeEssence(declared)
  if (claimed === undefined || claimed === sniffed) return true
  if (sniffed === 'application/octet-stream') return !unmistakable.has(claimed)
  const families = mimeFamilies(claimed)
  // An unknown type contradicts nothing; its bytes are served by what they are.
  return families.length === 0 || mimeFamilies(sniffed).some((family) => families.includes(family))
}

/** Kinds of text that no browser runs, and that programs open by their type. */
const inertTexts: readonly string[] = ['text/csv', 'text/tab-separated-values']

/** Tables show no more than text in their bytes: the sender's word for them is kept. */
export function refineSniffedType(declared: string | undefined, sniffed: string): string {
  const claimed = mimeEssence(declared)
  return sniffed === 'text/plain' && claimed !== undefined && inertTexts.includes(claimed) ? claimed : sniffed
}

/** Without parameters, in lower case, and under its registered name. */
function mimeEssence(declared: string | undefined): string | undefined {
  const name = declared?.split(';')[0]?.trim().toLowerCase() ?? ''
  if (name === 'image/jpg' || name === 'image/pjpeg') return 'image/jpeg'
  return /^[a-z0-9!#$&^_.+-]+\/[a-z0-9!#$&^_.+-]+$/.test(name) && name !== 'application/octet-stream' ? name : undefined
}

function mimeFamilies(mimeType: string): readonly Family[] {
  const known = familiesByType[mimeType]
  if (known !== undefined) return known
  return familyPatterns.flatMap(([pattern, family]) => (pattern.test(mimeType) ? [family] : []))
}
