// What to do about each refusal, in words for the sender. The same words whether an object of another owner exists or none does.
import type { SignedUrlCode } from './signed-url-code.ts'

export type FileRejection = { readonly kind: 'refused'; readonly code: SignedUrlCode; readonly remedy: string }

const uploadAgain = 'upload the file to this gateway and use the url from its answer'
const askAgain = 'ask for a fresh url and use it at once'

const remedies: Readonly<Record<SignedUrlCode, string>> = {
  SU_SCHEME: 'use an https url',
  SU_HOST: uploadAgain,
  SU_CREDENTIALS: 'remove the user name and password from the url',
  SU_PATH_ENCODING: 'use the url exactly as it was handed out',
  SU_TRAVERSAL: 'use the url exactly as it was handed out',
  SU_FORM: 'use a signed download url',
  SU_BUCKET: uploadAgain,
  SU_PREFIX: uploadAgain,
  SU_TOKEN_MALFORMED: 'use the url exactly as it was handed out',
  SU_TOKEN_MISMATCH: 'use the url exactly as it was handed out',
  SU_SCOPE: 'use a url that was signed for download',
  SU_EXPIRED: askAgain,
  SU_DUP_PARAM: 'use the url exactly as it was handed out',
  SU_UNKNOWN_OBJECT: uploadAgain,
  SU_OWNER: uploadAgain,
  SU_MIME: 'declare the type that the bytes have, or none',
  SU_TOO_LARGE: 'send a smaller file',
  SU_EMPTY: 'send a file with at least one byte',
  SU_BLOCKED: 'this file is no longer available; send another one',
}

export function rejectFile(code: SignedUrlCode, remedy: string = remedies[code]): FileRejection {
  return { kind: 'refused', code, remedy }
}
