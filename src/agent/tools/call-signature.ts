// When two calls are the same call. `key` compares the raw parameters and stays in memory; the hashes are made of the redacted
// ones, because events carry them and a short secret can be guessed from its hash.
import type { Fields } from '../../contract/index.ts'
import { canonicalJson, sha256OfJson } from './canonical-json.ts'
import type { ToolCatalog } from './catalog.ts'
import { redactParameters } from './redact.ts'

/** Declarations say which parameters are secret. */
export type SignatureDeps = Pick<ToolCatalog, 'find'>

export type CallSignature = {
  readonly key: string
  readonly payload: { readonly tool_name: string; readonly parameters_hash: string; readonly signature_hash: string }
}

export async function callSignature(
  catalog: SignatureDeps,
  toolName: string,
  parameters: Fields,
): Promise<CallSignature> {
  const parametersHash = await sha256OfJson(redactParameters(parameters, catalog.find(toolName)))
  return {
    key: canonicalJson([toolName, parameters]),
    payload: {
      tool_name: toolName,
      parameters_hash: parametersHash,
      signature_hash: await sha256OfJson([toolName, parametersHash]),
    },
  }
}
