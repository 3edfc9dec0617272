// Extensions of the protocol that this gateway knows, by their URIs.

/** Frames carry ids, and a stream that is opened again with the last one goes on behind it. */
const resumeExtension = 'urn:gw:a2a:resume:v0.1'
/** Several agents stand behind one address: who they are, and how one is named. */
export const agentsExtension = 'urn:gw:a2a:agents:v0.1'
/** A receiver that wants a bearer's token and gives none is shown one signed with the key that signs cards. */
export const signedPushExtension = 'urn:gw:a2a:signed-push:v0.1'

export const knownExtensions: Readonly<Record<string, string>> = {
  'https://mentionable.dev/ns/policy/v0.1': 'What a task waits for, as data: metadata.mentionable.policy',
  'https://mentionable.dev/ns/identity/v0.1': 'Evidence about senders: metadata.mentionable.identity_evidence',
  'https://mentionable.dev/ns/a2a-tool-events/v0.1': 'Tool calls and their results as data parts',
  [resumeExtension]: 'Frames carry ids; Last-Event-ID goes on behind one',
  [signedPushExtension]:
    'Push notifications to receivers of scheme Bearer without credentials carry a JWT signed by us',
}
