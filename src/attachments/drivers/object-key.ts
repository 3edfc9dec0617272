// Checks object keys. The gateway makes them; a driver still checks each one, so that a mistake in other code cannot reach beyond its bucket.
import { GatewayError } from '../../contract/index.ts'

// Every segment begins with a letter or a digit, so neither `..` nor a hidden file can be one.
const keyPattern = /^[A-Za-z0-9][A-Za-z0-9._-]*(?:\/[A-Za-z0-9][A-Za-z0-9._-]*)*$/
const maxKeyLength = 1024

export function assertObjectKey(key: string): void {
  if (key.length <= maxKeyLength && keyPattern.test(key)) return
  throw new GatewayError('bad_request', '[attachments] this is no key of a stored object; nothing was done')
}
