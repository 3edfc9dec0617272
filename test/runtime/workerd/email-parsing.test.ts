// The same mails, read in workerd: the cases of test/conformance/email with the decoder that this runtime takes by itself.
import { describe, expect, test } from 'vitest'
import { openMimePart } from '../../../adapters/email/mime/files.ts'
import { parseMailBody } from '../../../adapters/email/mime/parse-body.ts'
import { findHeadEnd } from '../../../adapters/email/mime/part-head.ts'
import { file, mail, multipart, text } from '../../conformance/email/build-mail.ts'
import { parsingCases } from '../../conformance/email/parsing-cases.ts'

describe('what a mail says, in workerd', () => {
  test.each(parsingCases)('$id $what', async ({ raw, body }) => {
    const head = { bodyStart: findHeadEnd(raw, 0, raw.length).bodyStart }
    expect(await parseMailBody(raw, head)).toMatchObject(body)
  })

  test('a file is opened with its bytes', async () => {
    const bytes = Uint8Array.from({ length: 100_000 }, (_, at) => (at * 7) % 256)
    const part = await openMimePart(
      mail(multipart('mixed', [text('See it.'), file('a.bin', 'application/x-a', bytes)])),
      1,
    )
    expect(new Uint8Array(await new Response(part?.body).arrayBuffer())).toEqual(bytes)
  })
})
