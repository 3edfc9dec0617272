// The exception whose words are for the model. Any other exception stays between the tool and its operator.

/** Throw it from a tool to tell the model what to do differently. A person may come to read it too. */
export class ToolError extends Error {
  readonly errorType: string

  constructor(message: string, errorType = 'tool_error') {
    super(message)
    this.name = 'ToolError'
    this.errorType = errorType
  }
}

export function isToolError(error: unknown): error is ToolError {
  // By shape and not by class: a configuration file may bring a second copy of this module.
  return error instanceof Error && error.name === 'ToolError' && 'errorType' in error
}
