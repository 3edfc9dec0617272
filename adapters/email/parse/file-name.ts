// The name of a file in a mail: what its sender called it, made safe to show and to store under.
import { cleanFileName } from '../../../src/contract/index.ts'
import type { PartHead } from './part-head.ts'

export type FileName = {
  readonly name: string
  /** As it was declared, where that differs. */
  readonly declaredName?: string
}

const maxDeclared = 500
const usualFileNames: Readonly<Record<string, string>> = {
  'text/calendar': 'invitation.ics',
  'text/vcard': 'contact.vcf',
  'text/x-vcard': 'contact.vcf',
  'message/rfc822': 'message.eml',
  'message/global': 'message.eml',
  'text/plain': 'text.txt',
  'text/html': 'page.html',
  'application/pgp-signature': 'signature.asc',
  'application/pgp-encrypted': 'version.asc',
  'application/pkcs7-signature': 'smime.p7s',
  'application/pkcs7-mime': 'smime.p7m',
  'image/jpeg': 'image.jpg',
  'application/ms-tnef': 'winmail.dat',
  'text/rfc822-headers': 'headers.txt',
  'image/svg+xml': 'image.svg',
  'message/delivery-status': 'delivery-status.txt',
  'message/feedback-report': 'feedback-report.txt',
  'message/disposition-notification': 'receipt.txt',
  'application/pdf': 'document.pdf',
}

export async function partFileName({ disposition, type }: PartHead): Promise<FileName> {
  const given = disposition.params.get('filename') ?? type.params.get('name')
  const declared = given === undefined ? undefined : (await decodeNameWords(given)).slice(0, maxDeclared).toWellFormed()
  const name = cleanFileName(declared) ?? usualFileNames[type.value] ?? genericFileName(type.value)
  return declared === undefined || declared === name ? { name } : { name, declaredName: declared }
}

function genericFileName(mime: string): string {
  const [kind, ending = ''] = mime.split('/')
  return /^(?:image|audio|video)$/.test(kind ?? '') && /^[a-z0-9]{1,5}$/.test(ending) ? `${kind}.${ending}` : 'file.bin'
}

/** Encoded words have no business in a parameter, and most mailers put them there. */
async function decodeNameWords(text: string): Promise<string> {
  if (!text.includes('=?')) return text
  const { decodeWords } = await import('postal-mime')
  return decodeWords(text.slice(0, 4 * maxDeclared))
}
