// The JSON-LD context of our posts: the same where they are delivered, fetched and listed.
import type { JsonObject } from '../../../src/contract/index.ts'

/** Said inline, so that no server has to fetch what our words mean. */
export const noteContext: JsonObject = {
  '@context': [
    'https://www.w3.org/ns/activitystreams',
    'https://w3id.org/security/data-integrity/v1',
    { sensitive: 'as:sensitive', ostatus: 'http://ostatus.org#', conversation: 'ostatus:conversation' },
  ],
}
