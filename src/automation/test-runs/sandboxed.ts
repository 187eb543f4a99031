import type { FlowServices } from '../flows/call-leaf.ts';

/** The services that execute a test run: the sandbox answers, whatever the environment of the run is. */
export function sandboxed(services: FlowServices): FlowServices {
  const { providers, httpSenders } = services;
  return {
    ...services,
    providers: {
      ...providers,
      textModel: (_, provider, model) => providers.textModel('test', provider, model),
      chatModel: (_, provider, model) => providers.chatModel('test', provider, model),
      listModels: () => providers.listModels('test'),
      mayBeInstant: () => providers.mayBeInstant('test'),
    },
    httpSenders: { live: httpSenders.test, test: httpSenders.test },
  };
}
