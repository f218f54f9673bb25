-- Requests of customers: each thread goes through all orders and items, and visits.
local n = 0

request = function()
  n = n + 1
  if n % 5 == 0 then
    return wrk.format("POST", "/visits")
  elseif n % 2 == 0 then
    return wrk.format("GET", "/items/" .. n % 100)
  end
  return wrk.format("GET", "/orders/" .. n % 100)
end
