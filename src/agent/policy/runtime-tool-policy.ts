// The tool list handed to a delegated runtime: `agents-api/runtime-tool-policy/v1`. Closed unless a tool says twice
// that it belongs there.
import type { Fields } from '../../contract/index.ts'
import { asFields, ownField, trimmedText } from '../fields.ts'
import type { ToolDeclaration } from '../tools/tool.ts'

type Place = 'runtime_local' | 'control_plane'

export function runtimeToolPolicy(tools: Iterable<ToolDeclaration>, context?: Fields): Fields {
  const scalars = Object.entries(context ?? {}).filter(([, value]) =>
    ['string', 'number', 'boolean'].includes(typeof value),
  )
  return {
    schema: 'agents-api/runtime-tool-policy/v1',
    version: 1,
    tools: [...tools].map(projectRuntimeTool),
    ...(scalars.length === 0 ? {} : { context: Object.fromEntries(scalars) }),
  }
}

function projectRuntimeTool(tool: ToolDeclaration): Fields {
  const environment = runtimePlacement(tool, 'environment')
  const capabilityScope = runtimePlacement(tool, 'capability_scope')
  const allowed = environment === 'runtime_local' && capabilityScope === 'runtime_local'
  return {
    id: tool.name,
    runtime_tool_id: trimmedText(tool['runtime_tool_id']) ?? tool.name.replace(/[/-]/g, '_'),
    allowed,
    environment,
    capability_scope: capabilityScope,
    runtime: { environment, capability_scope: capabilityScope },
    execution_location: allowed ? 'sandbox' : 'parent',
    transport_visibility: allowed ? 'sandbox' : 'parent',
    legacy_fields: ['execution_location', 'transport_visibility'],
    source: tool.source,
  }
}

function runtimePlacement(tool: ToolDeclaration, key: string): Place {
  const value = ownField(asFields(tool.runtime), key)
  return value === 'runtime_local' ? value : 'control_plane'
}
