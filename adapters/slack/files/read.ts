// Hop 3: the files a message carries, as far as Slack says what they are. Their bytes stay where they are. Pure.
import { cleanText, type KnownPart, textPart } from '../../../src/contract/index.ts'
import { fileSchema, type SlackFile } from '../wire/event.ts'

/** Deleted, beyond the plan's limit, or not shown to us: nothing can be asked for. */
const goneModes: ReadonlySet<string> = new Set(['tombstone', 'hidden_by_limit'])

export function fileParts(files: readonly unknown[], account: string): readonly KnownPart[] {
  return files.flatMap((value) => {
    const { data } = fileSchema.safeParse(value)
    return data === undefined ? [] : [slackFilePart(data, account)]
  })
}

function slackFilePart(file: SlackFile, account: string): KnownPart {
  const name = cleanText(file.name ?? '').slice(0, 255)
  if (goneModes.has(file.mode ?? '')) return textPart(`[file: ${name || file.id}, no longer there]`)
  // It lies on another service, and our token must not go there.
  if (file.is_external === true || file.mode === 'external')
    return textPart(`[file: ${name || file.id}, kept elsewhere]`)
  const isStub = file.file_access === 'check_file_info'
  const url = isStub ? undefined : (file.url_private_download ?? file.url_private)
  const mime = file.mimetype
  return {
    kind: 'file',
    bytes_ref: {
      kind: 'channel',
      ref: {
        account,
        file_id: file.id,
        ...(url === undefined ? {} : { url }),
        ...(mime === undefined ? {} : { mime }),
      },
    },
    ...(mime === undefined ? {} : { mime }),
    ...(name === '' ? {} : { name }),
    ...(file.size === undefined ? {} : { size: file.size }),
  }
}
