// The AI SDK at the first question to a model. The program has it with everything else; in the library, which configurations import, the
// build makes an import of it that waits for that question (scripts/bundle.js). In one file such an import would make zod wait too.
import * as sdk from './sdk.ts'

export type Sdk = typeof sdk

export const loadAiSdk = async (): Promise<Sdk> => sdk
