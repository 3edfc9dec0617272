// What a mail says, as parts: its subject where it opens a thread, its words, its files by their place in the raw mail. Pure.
import { type KnownPart, textPart } from '../../../src/contract/index.ts'
import type { BodyFlag, MailFile } from '../wire/judged.ts'
import type { VerifiedMail } from '../wire/read.ts'

/** Told to the agent in words, since it would answer as if it had seen everything. */
const notes: Partial<Record<BodyFlag, string>> = {
  text_cut: '[the rest of this mail was too long]',
  files_left_out: '[more files came with this mail than are kept]',
  signed_or_encrypted: '[this mail carries a signature or an encrypted part that was not opened]',
  alternative_mismatch: '[this mail says something else in its formatted version, which was not read]',
}

const isReply = /^\s*(?:re|aw|sv|vs|antw|odp|ynt|rif|r|ref|回复|答复|回覆)\s*(?:\[\d+\])?\s*[:：]/iu

/** Empty: it says nothing at all. */
export function mailParts({ head, body, original }: VerifiedMail): KnownPart[] {
  const said = [
    ...(body.text === '' ? [] : [textPart(body.text, body.mime)]),
    ...body.files.map((file) => mailFilePart(file, original, body.uncounted)),
  ]
  const isOpening = head.inReplyTo.length === 0 && head.references.length === 0 && !isReply.test(head.subject)
  const isCommand = body.text.startsWith('/')
  const subject = head.subject !== '' && (isOpening || said.length === 0) && !isCommand
  if (said.length === 0 && !subject) return []
  return [
    ...(subject ? [textPart(`[subject: ${head.subject}]`)] : []),
    ...said,
    ...body.flags.flatMap((flag) => notes[flag] ?? []).map((note) => textPart(note)),
  ]
}

function mailFilePart(
  { index, name, mime, size }: MailFile,
  original: string | undefined,
  uncounted: readonly string[] | undefined,
): KnownPart {
  if (original === undefined) return textPart(`[a file, ${name}, that could not be kept]`)
  const ref = { original, index, mime, name, ...(uncounted === undefined ? {} : { uncounted: [...uncounted] }) }
  return { kind: 'file', bytes_ref: { kind: 'channel', ref }, mime, name, size }
}
