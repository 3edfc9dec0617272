// The files of a mail, taken out of the mail as it was kept.
import type { Adapter, RawBlobs } from '../../src/contract/index.ts'
import { type FindPart, openPart } from './parse/open-part.ts'

export function openMailFile(
  originals: RawBlobs | undefined,
  find: FindPart | undefined = undefined,
): NonNullable<Adapter['openFile']> {
  return async ({ original, index, uncounted }) => {
    if (typeof original !== 'string' || typeof index !== 'number') return { kind: 'refused', reason: 'gone' }
    try {
      const mail = await originals?.open(original)
      const part = mail === undefined ? undefined : await openPart(mail, index, stringItems(uncounted), find)
      return part === undefined ? { kind: 'refused', reason: 'gone' } : { kind: 'opened', ...part }
    } catch {
      return { kind: 'retry', reason: 'original_not_readable' }
    }
  }
}

function stringItems(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : []
}
