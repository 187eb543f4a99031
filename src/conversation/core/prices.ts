/** In credits. */
const messagePrices = { message: 1, toolOverheadPerMessage: 1 } as const;

/** The price of a message in whole credits. @param toolsCalled whether the model called at least one tool to reply */
export const messagePrice = (toolsCalled: boolean): number =>
  messagePrices.message + (toolsCalled ? messagePrices.toolOverheadPerMessage : 0);
