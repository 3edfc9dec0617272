// The body of an upload: fields first, then one file, which flows into the store while it comes in.

import { callerId, GatewayError, plainIdRemedy } from '../contract/index.ts'
import type { AttachmentService, StoreOutcome } from '../files/attachment.ts'
import { type FormPart, type Multipart, readMultipart } from './multipart/read-multipart.ts'

export type UploadDeps = {
  readonly store: AttachmentService['store']
  /** Whose it is and where it came from, once the fields before the file are known. */
  readonly receivedVia: string
  readonly principal: string
}

export type UploadFields = { readonly threadId: string | null }

const maxFieldBytes = 2048
const maxThreadId = 512

export const fieldsFirstRemedy = 'put threadId and runId before the file, and send one file per request'

/** What came of the file, and whether what came after it was as it should be: only then may it be kept. */
export type ReceivedUpload = { readonly outcome: StoreOutcome; readonly isInOrder: boolean }

export async function receiveUpload(
  deps: UploadDeps,
  reader: ReadableStreamDefaultReader<Uint8Array>,
  boundary: string,
): Promise<ReceivedUpload> {
  const form = readMultipart(reader, boundary)
  let threadId: string | null = null
  for (let part = await form.next(); part !== undefined; part = await form.next()) {
    if (part.filename === undefined) {
      const value = await readFormField(part)
      if (part.name === 'threadId') threadId = readThreadId(value)
      continue
    }
    const outcome = await storeFormFile(deps, part, { threadId })
    return { outcome, isInOrder: outcome.kind === 'refused' || (await hasNoLateFields(form)) }
  }
  throw new GatewayError('bad_request', 'there is no file in the form; send one, as curl -F file=@name does')
}

function storeFormFile({ store, principal, receivedVia }: UploadDeps, part: FormPart, { threadId }: UploadFields) {
  const { body, contentType, filename = '' } = part
  return store({
    body,
    ...(contentType === undefined ? {} : { declaredMime: contentType }),
    ...(filename === '' ? {} : { name: filename }),
    owner: { principal, threadId },
    origin: { receivedVia, nativeId: null },
  })
}

/** An unknown field may stand anywhere; one that says whose the file is came too late. */
async function hasNoLateFields(form: Multipart): Promise<boolean> {
  try {
    for (let part = await form.next(); part !== undefined; part = await form.next()) {
      if (part.filename !== undefined || part.name === 'threadId') return false
      await readFormField(part)
    }
    return true
  } catch (error) {
    if (error instanceof GatewayError) return false
    throw error
  }
}

async function readFormField({ name, body }: FormPart): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  let size = 0
  for await (const bytes of body) {
    size += bytes.byteLength
    if (size > maxFieldBytes)
      throw new GatewayError(
        'bad_request',
        `the field ${JSON.stringify(name.slice(0, 64))} is longer than ${maxFieldBytes} bytes`,
      )
    text += decoder.decode(bytes, { stream: true })
  }
  return text + decoder.decode()
}

function readThreadId(value: string): string | null {
  const threadId = value.trim()
  if (threadId === '') return null
  if (callerId(maxThreadId).safeParse(threadId).success) return threadId
  throw new GatewayError('bad_request', `threadId must have at most ${maxThreadId} characters; ${plainIdRemedy}`)
}
