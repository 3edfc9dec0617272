// Authentication sources that act without a person: identity limits them, and the loop shows them fewer tools. One list for both.

/** Sources of authority (`auth_source`) behind which no person sits. */
export const autonomousSources: readonly string[] = ['system', 'runtime', 'agent_token']
